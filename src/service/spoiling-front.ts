// A proxy for demos in front of a search service. The proxy injects faults, and keeps its own balance.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { bindLoopback } from './listen.ts'
import { fraction } from './random.ts'

/** Faults that last for a whole night. `nobody` is a night without workers, and has no effect in this proxy. */
const nightFaults = ['empty', 'shallow', 'failing', 'nobody', 'html', 'dear'] as const
type NightFault = (typeof nightFaults)[number]

/** A proxy with its own balance that corrupts the answers of the service behind it. */
interface SpoilingFront {
  readonly url: string
  /** Sets the fault of all later answers; null for no fault. */
  set(fault: NightFault | null): void
  /** Adds credits to the balance, as a top-up does. A negative number lowers the balance, as external spend does. */
  change(credits: number): void
  close(): Promise<void>
}

const body = z.looseObject({ organic_results: z.array(z.unknown()) })
const page = '<!doctype html><title>Sorry</title><h1>We will be back soon</h1>'
const failure = {
  success: false,
  error: {
    code: 'INVALID_REQUEST',
    message: 'A fault on purpose',
    documentation: 'https://docs.example.com/errors',
  },
}
const failingShare = 0.4
const shallowShare = 0.1
const dearTimes = 3

/** Opens the proxy on the loopback interface. */
export async function openFront(behind: string, credits: number): Promise<SpoilingFront> {
  let fault: NightFault | null = null
  let balance = credits
  const take = () => {
    const used = fault === 'dear' ? dearTimes : 1
    balance -= used
    return { credits_used: used, credits_remaining: balance }
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/'
    const query = new URL(path, behind).searchParams.get('q') ?? ''
    if (fault === 'failing' && fraction(`failing ${query}`) < failingShare) {
      return reply(response, 422, JSON.stringify(failure))
    }
    const { authorization = '' } = request.headers
    const found = await fetch(new URL(path, behind), { headers: { authorization } })
    const text = await found.text()
    if (found.status !== 200) return reply(response, found.status, text)
    const told = take()
    if (fault === 'html') return reply(response, 200, page)
    const good = body.parse(JSON.parse(text))
    const results = good.organic_results.slice(0, depthOf(fault, good.organic_results.length))
    return reply(response, 200, JSON.stringify({ ...good, ...told, organic_results: results }))
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  return {
    url: await bindLoopback(server, 0),
    set: (next) => {
      fault = next
    },
    change: (more) => {
      balance += more
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}

function depthOf(fault: NightFault | null, depth: number): number {
  if (fault === 'empty') return 0
  return fault === 'shallow' ? Math.ceil(depth * shallowShare) : depth
}

function reply(response: ServerResponse, status: number, text: string): void {
  const type = text.startsWith('<') ? 'text/html' : 'application/json'
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(text)
}
