import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The response of a stand-in for SearXNG for one page. */
export interface FakePage {
  readonly results?: readonly unknown[]
  readonly suggestions?: readonly unknown[]
  readonly corrections?: readonly string[]
  readonly infoboxes?: readonly object[]
  readonly unresponsive_engines?: readonly (readonly [string, string])[]
}

/** Its reaction to a request: a page, or any other response. */
export type Behaviour = (
  params: URLSearchParams,
  request: IncomingMessage,
) => FakePage | Raw | 'never'

export interface Raw {
  readonly status: number
  readonly body: string
  readonly headers?: Record<string, string>
}

export interface FakeSearxng {
  readonly url: URL
  /** The parameters of every request, in order of arrival. */
  readonly asked: Record<string, string>[]
  /** Maximum number of concurrent requests. */
  readonly busiest: () => number
  behave(behaviour: Behaviour): void
  /** Delays every response until this is done: one promise for all requests, or one for each. */
  hold(until: Promise<unknown> | (() => Promise<unknown>)): void
  close(): Promise<void>
}

/** Responds like SearXNG's source code: seven keys, the same parameter checks, JSON enabled. */
export async function startFakeSearxng(delayMs = 2): Promise<FakeSearxng> {
  const asked: Record<string, string>[] = []
  let behaviour: Behaviour = () => ({})
  let [busy, busiest] = [0, 0]
  let held: () => Promise<unknown> = () => Promise.resolve()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    asked.push(Object.fromEntries(url.searchParams))
    busy += 1
    busiest = Math.max(busiest, busy)
    const reply = () => {
      busy -= 1
      const given = behaviour(url.searchParams, request)
      if (given !== 'never') answer(response, url, given)
    }
    setTimeout(() => void held().then(reply), delayMs)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    asked,
    busiest: () => busiest,
    behave: (next) => (behaviour = next),
    hold: (until) => {
      held = typeof until === 'function' ? until : () => until
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(response: ServerResponse, url: URL, given: FakePage | Raw): void {
  if ('status' in given) {
    response.writeHead(given.status, given.headers ?? {})
    response.end(given.body)
    return
  }
  const language = url.searchParams.get('language')
  const q = url.searchParams.get('q') ?? ''
  const wrong = language !== null && !/^[a-z]{2,3}(-[a-zA-Z]{2})?$/.test(language)
  const status =
    q === '' || wrong || !/^[1-9]\d*$/.test(url.searchParams.get('pageno') ?? '1') ? 400 : 200
  const page = {
    query: q,
    results: [],
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: [],
    ...given,
  }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(status === 200 ? page : { error: 'Invalid value' }))
}

/** A result as an engine returns it, with the unused fields. */
export function fakeResult(number: number, host = 'site.example'): object {
  return {
    url: `https://${host}/${number}`,
    title: `Result ${number}`,
    content: `What page ${number} says about gardens.`,
    engine: 'duckduckgo',
    engines: ['duckduckgo', 'brave'],
    positions: [number],
    score: 1 / number,
    category: 'general',
    template: 'default.html',
    parsed_url: ['https', host, `/${number}`, '', '', ''],
    publishedDate: null,
  }
}
