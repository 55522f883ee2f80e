import { isLoopback } from '../shared/address.ts'
import { BadSettings } from '../shared/errors.ts'
import type { Query } from '../shared/query.ts'
import { scrub, type Secret } from '../shared/secret.ts'
import { inflate } from './body.ts'
import { Exchange, type ExchangeEnding } from './exchange.ts'
import { Sockets } from './sockets.ts'
import { stop, Stops } from './abort.ts'

/** What became of one paid request. */
export type Reply =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly body: Buffer
      /** True when the body is longer than is kept, or its compression ends too early. */
      readonly truncated: boolean
      readonly retryAfter: string | null
      /** For how long the same key is given the same answer, charged once; null: the API does not say so. */
      readonly replayMs: number | null
      readonly receivedAt: Date
    }
  /** Provably never sent: no byte of the request was written to a socket. */
  | { readonly kind: 'unsent'; readonly code: string; readonly message: string }
  /** Sent, perhaps charged, and no whole response came back. */
  | {
      readonly kind: 'lost'
      readonly code: string
      readonly message: string
      readonly status: number | null
      readonly partial: Buffer | null
      readonly receivedAt: Date
    }

export interface Api {
  /** Never throws: whatever happens is a reply. Requests with the same key are one request to an API that knows keys. */
  call(query: Query, options?: CallOptions): Promise<Reply>
  /** From here on another key is sent; nothing may be in flight. */
  turnKey(key: Secret): void
  /** Cuts what is in flight. */
  close(): Promise<void>
}

/** What a call may bear beside its query. */
export interface CallOptions {
  readonly key?: string | null
  readonly signal?: AbortSignal
}

export interface ApiOptions {
  readonly url: URL
  readonly key: Secret
  /** For the whole request, from the first attempt to connect to the last byte of the body. */
  readonly timeoutMs: number
  readonly lanes: number
}

/** Opens the way to the API; nothing is connected yet. */
export function openApi({ url, timeoutMs, lanes, ...given }: ApiOptions): Api {
  checkKey(url, given.key)
  let key = given.key
  const sockets = new Sockets(url.origin, { lanes, timeoutMs })
  const headers = {
    accept: 'application/json',
    // A compressed body saves a few kilobytes and costs more CPU than the whole rest of the call.
    'accept-encoding': 'identity',
    'user-agent': 'querymill',
  }
  const stops = new Stops()
  const exchange = (query: Query, { key: mark, signal }: CallOptions) =>
    new Promise<ExchangeEnding>((resolve) => {
      const current = new Exchange((ending) => {
        clearTimeout(deadline)
        if (signal !== undefined) stops.delete(signal, current)
        resolve(ending)
      })
      const cut = () => current.cut('TIMEOUT', `no whole response within ${timeoutMs} ms`)
      const due = performance.now() + timeoutMs
      const deadline = setTimeout(() => lookOnceMore(due, cut), timeoutMs)
      if (signal?.aborted === true) {
        stop(current)
        return
      }
      if (signal !== undefined) stops.add(signal, current)
      const own =
        mark === null || mark === undefined ? headers : { ...headers, 'idempotency-key': mark }
      const authorization = `Bearer ${key.reveal()}`
      const path = searchPath(url, query)
      sockets.pool().dispatch({ method: 'GET', path, headers: { authorization, ...own } }, current)
    })
  return {
    call: async (query, options = {}) => {
      const ending = await exchange(query, options)
      sockets.learn(ending)
      return readEnding(ending, key)
    },
    turnKey: (next) => {
      checkKey(url, next)
      key = next
    },
    close: () => sockets.close(),
  }
}

// A process that stood still finds its deadlines gone and whole answers in its sockets, a few kilobytes a read.
const frozenMs = 250
const readingMs = 500
/** Looks at the sockets besides: a busy machine may spend all of that time on something else. */
const looks = 50

/** Timers run before sockets are read: lets what has arrived be read before a call is cut that was paid for. */
function lookOnceMore(due: number, cut: () => void): void {
  if (performance.now() - due > frozenMs) setTimeout(() => afterLooks(looks, cut), readingMs)
  else afterLooks(2, cut)
}

function afterLooks(left: number, then: () => void): void {
  setImmediate(() => (left > 1 ? afterLooks(left - 1, then) : then()))
}

/** A header that cannot be sent would fail inside the client, with the key in its message. */
function checkKey(url: URL, key: Secret): void {
  const problems: string[] = []
  if (!/^[\x21-\x7e]+$/.test(key.reveal())) {
    problems.push(
      `SEARCH_API_KEY: expected one word of printable ASCII characters, got ${key.describe()}`,
    )
  }
  if (url.protocol !== 'https:' && !isLoopback(url.hostname)) {
    problems.push(`SEARCH_API_URL: expected https, got ${url.protocol} to ${url.hostname}`)
  }
  if (problems.length > 0) throw new BadSettings(problems)
}

/** An absent parameter is not sent; the key never is a parameter. */
function searchPath(url: URL, query: Query): string {
  const parameters = new URLSearchParams({ q: query.q })
  for (const name of ['location', 'hl', 'gl', 'num', 'device'] as const) {
    const value = query[name]
    if (value !== null) parameters.set(name, String(value))
  }
  return `${url.pathname.replace(/\/+$/, '')}/v1/search?${parameters.toString()}`
}

async function readEnding(ending: ExchangeEnding, key: Secret): Promise<Reply> {
  const { failure, status, bytes } = ending
  if (failure !== null || status === null) {
    const code = failure?.code ?? 'NO_RESPONSE'
    const message = scrub(failure?.message ?? 'the connection ended without a response', [key])
    if (!ending.sent) return { kind: 'unsent', code, message }
    const partial = status === null ? null : mask(bytes, key)
    return { kind: 'lost', code, message, status, partial, receivedAt: new Date() }
  }
  const receivedAt = new Date()
  const retryAfter = first(ending.headers['retry-after'])
  const encoding = first(ending.headers['content-encoding'])
  const body =
    encoding === null || ending.truncated
      ? { bytes, truncated: ending.truncated }
      : await inflate(bytes, encoding)
  return {
    kind: 'response',
    status,
    body: mask(body.bytes, key),
    truncated: body.truncated,
    retryAfter,
    replayMs: readWindow(first(ending.headers['x-idempotency-window'])),
    receivedAt,
  }
}

/** Seconds, as a header tells them. */
function readWindow(header: string | null): number | null {
  const seconds = header !== null && /^\d{1,9}$/.test(header.trim()) ? Number(header) : 0
  return seconds === 0 ? null : seconds * 1_000
}

/** A body that quotes the key is kept without it: rows are read by people who must not have it. */
function mask(bytes: Buffer, key: Secret): Buffer {
  const value = key.reveal()
  if (!bytes.includes(value)) return bytes
  return Buffer.from(bytes.toString('latin1').replaceAll(value, '*'.repeat(value.length)), 'latin1')
}

function first(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}
