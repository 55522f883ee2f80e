import { createServer, type Server } from 'node:http'
import { openAdmin } from './admin.ts'
import type { RequestEntry, StandInBooks } from './books.ts'
import { knobShape, type KnobChange, type KnobsInput } from './knobs.ts'
import { bindLoopback } from '../listen.ts'
import { Stand } from './stand.ts'

export interface Faulty {
  readonly url: string
  /** Where its books are read and its knobs are turned; not the address that clients know. */
  readonly admin: string
  readonly key: string
  balance(): number
  /** The smallest balance there ever was. */
  least(): number
  /** One entry for each request, in order of arrival. */
  charges(): readonly RequestEntry[]
  readonly books: StandInBooks
  /** Turns knobs while it runs; what is not named stays. */
  set(change: KnobChange): void
  renew(credits: number): void
  /** Ends at once: connections in work are cut. */
  close(): Promise<void>
}

/** Starts a stand-in for the paid API that fails on purpose and keeps its own books. Loopback only. */
export async function startFaulty(input: KnobsInput = {}): Promise<Faulty> {
  const stand = new Stand(knobShape.parse(input))
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    response.on('error', () => undefined)
    void stand.answer(request, response)
  })
  stand.url = await bindLoopback(server, stand.knobs.port)
  const admin = await openAdmin(stand, stand.knobs.adminPort)
  const timers = startTimers(stand)
  return {
    url: stand.url,
    admin: admin.url,
    key: stand.key,
    books: stand.books,
    balance: () => stand.books.balance,
    least: () => stand.books.least,
    charges: () => stand.books.entries,
    set: (change) => stand.set(change),
    renew: (credits) => stand.books.renew(credits),
    async close() {
      timers.forEach(clearInterval)
      await Promise.all([endNow(server), endNow(admin.server)])
    },
  }
}

function startTimers({ knobs, books }: Stand): NodeJS.Timeout[] {
  const { renewal, otherSpender: other } = knobs
  const timers: NodeJS.Timeout[] = []
  if (renewal !== undefined) {
    timers.push(setTimeout(() => books.renew(renewal.credits), renewal.afterMs))
  }
  if (other !== undefined) {
    timers.push(setInterval(() => books.spendElsewhere(other.credits), other.everyMs))
  }
  return timers
}

async function endNow(server: Server): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
}
