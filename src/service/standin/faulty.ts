import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { openAdmin } from './admin.ts'
import { BodyWriter } from './bodies.ts'
import { StandInBooks, priceOf, type RequestEntry } from './books.ts'
import { chooseFault, type Fault } from './fault.ts'
import { makeKey } from '../key.ts'
import { changeShape, knobShape, type KnobChange, type Knobs, type KnobsInput } from './knobs.ts'
import { bindLoopback } from '../listen.ts'
import { answerWell, errorBody, isCharged, misbehave, type Scene } from './misbehave.ts'
import { fraction } from '../random.ts'

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

/** What is shared by the requests of one stand-in. */
class Stand {
  url = ''
  knobs: Knobs
  readonly key: string
  readonly books: StandInBooks
  readonly #writer: BodyWriter
  readonly #attempts = new Map<string, number>()

  constructor(knobs: Knobs) {
    this.knobs = knobs
    this.key = knobs.key ?? makeKey(knobs.kind)
    this.books = new StandInBooks(knobs.credits, knobs.logFile ?? null)
    this.#writer = new BodyWriter(knobs.seed)
  }

  set(change: KnobChange): void {
    const { credits, ...knobs } = changeShape.parse(change)
    if (credits !== undefined) this.books.renew(credits)
    const given = Object.entries(knobs).filter(([, value]) => value !== undefined)
    this.knobs = { ...this.knobs, ...Object.fromEntries(given) }
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    if (url.pathname !== '/v1/search' || request.method !== 'GET') {
      refuse(response, 404, 'NOT_FOUND')
      return
    }
    const entry = this.books.open(url.searchParams)
    const key = sentKey(request.headers.authorization, url.searchParams)
    if (key === null || !this.#takes(key)) {
      const status = key === null ? 401 : 403
      refuse(response, status, status === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN')
      this.books.end(entry, 'refused', status)
      return
    }
    await this.#serve(entry, response, this.#choose(entry, url.searchParams))
  }

  #takes(key: string): boolean {
    return key === this.key || this.knobs.keys.includes(key)
  }

  #choose(entry: RequestEntry, params: URLSearchParams): Fault | null {
    params.delete('api_key')
    params.sort()
    const identity = params.toString()
    const attempt = (this.#attempts.get(identity) ?? 0) + 1
    this.#attempts.set(identity, attempt)
    const { faults, seed } = this.knobs
    return chooseFault(faults, seed, { n: entry.n, identity, q: entry.q, attempt })
  }

  /** The money moves at the set moment, whether or not the client still listens. */
  async #serve(entry: RequestEntry, response: ServerResponse, fault: Fault | null): Promise<void> {
    const { chargeAt, delayMs, seed } = this.knobs
    const delay = pickDelay(delayMs, `${seed} delay ${entry.n}`)
    const share = { start: 0, end: 1, between: fraction(`${seed} moment ${entry.n}`) }[chargeAt]
    await pause(delay * share)
    const chargedLate = fault?.kind === 'late' && fault.what === 'charge'
    if (isCharged(fault) && !chargedLate && !this.#charge(entry)) {
      this.books.end(entry, 'spent', this.#refuseSpent(response))
      return
    }
    const remaining = this.books.balance
    await pause(delay * (1 - share))
    if (fault?.kind === 'late' && fault.what === 'answer') await pause(fault.afterMs)
    const num = entry.num !== null && entry.num >= 1 && entry.num <= 100 ? entry.num : 10
    const scene: Scene = {
      response,
      url: this.url,
      used: entry.charged,
      remaining,
      open: (q) => this.#writer.open({ q: q ?? entry.q, num }),
    }
    const status = fault === null ? answerWell(scene) : await misbehave(fault, scene)
    if (fault?.kind === 'late' && fault.what === 'charge') {
      await pause(fault.afterMs)
      this.#charge(entry)
    }
    this.books.end(entry, fault?.kind ?? 'answered', status)
  }

  /** A test key pays nothing. */
  #charge(entry: RequestEntry): boolean {
    if (this.knobs.kind === 'test') return true
    return this.books.charge(entry, priceOf(this.knobs.cost, entry, this.knobs.seed))
  }

  #refuseSpent(response: ServerResponse): number {
    const status = Number(this.knobs.spent)
    refuse(response, status, status === 402 ? 'PAYMENT_REQUIRED' : 'QUOTA_EXCEEDED')
    return status
  }
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await wait(ms)
}

function pickDelay(delay: Knobs['delayMs'], name: string): number {
  if (typeof delay === 'number') return delay
  return delay.least + fraction(name) * (delay.most - delay.least)
}

function sentKey(header: string | undefined, params: URLSearchParams): string | null {
  return /^Bearer (.+)$/.exec(header ?? '')?.[1] ?? params.get('api_key')
}

function refuse(response: ServerResponse, status: number, code: string): void {
  const body = errorBody(code, 'Refused by the stand-in')
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
