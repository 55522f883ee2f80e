import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BodyWriter } from './bodies.ts'
import { bindLoopback, closeServer } from './listen.ts'
import { makeKey } from './key.ts'
import { cost } from './plans.ts'

export interface CannedOptions {
  readonly seed?: string
  readonly port?: number
  /** How long every answer takes, at least. */
  readonly latencyMs?: number
}

export interface Canned {
  readonly url: string
  /** Any key is taken; this one has the form of a live key. */
  readonly key: string
  readonly calls: () => number
  close(): Promise<void>
}

const balance = 1_000_000_000_000

/** Answers without looking anything up, so that a benchmark of a client never measures this side. */
export async function startCanned(options: CannedOptions = {}): Promise<Canned> {
  const writer = new BodyWriter(options.seed ?? 'canned')
  let remaining = balance
  let calls = 0
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const asked = readAsked(request.url ?? '')
    const used = cost(asked.num)
    remaining -= used
    calls += 1
    const body = writer.write(asked, { used, remaining })
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  }
  const latencyMs = options.latencyMs ?? 0
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    if (latencyMs === 0) answer(request, response)
    else setTimeout(answer, latencyMs, request, response)
  })
  const url = await bindLoopback(server, options.port ?? 0)
  return { url, key: makeKey('live'), calls: () => calls, close: () => closeServer(server, 1000) }
}

/** Reads the parameters that the answer depends on, leniently: nothing is refused here. */
function readAsked(url: string): { q: string; num: number } {
  const params = new URLSearchParams(url.slice(url.indexOf('?') + 1))
  const num = Number(params.get('num') ?? 10)
  return {
    q: params.get('q') ?? '',
    num: Number.isInteger(num) && num >= 1 && num <= 100 ? num : 10,
  }
}
