// One paid request: sent, waited for, read; the time-out is applied here.

import { createBrotliDecompress, createGunzip, createInflate, type Gunzip } from 'node:zlib'
import { Socket } from 'node:net'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { isLoopback } from '../../base/address.ts'
import { BadSettings } from '../../base/errors.ts'
import type { Query } from '../../base/query.ts'
import { scrub, type Secret } from '../../base/secret.ts'

/** Result of one paid request. */
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

/** Idempotency key and abort signal of a call. */
interface CallOptions {
  readonly key?: string | null
  readonly signal?: AbortSignal
}

interface ApiOptions {
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

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** End of an exchange: a whole response, or the part that came before it broke. */
export interface ExchangeEnding {
  /** False: no byte of the request was written to a socket. */
  readonly sent: boolean
  /** Null: the response is whole, or longer than is kept. */
  readonly failure: { readonly code: string; readonly message: string } | null
  readonly status: number | null
  readonly headers: Headers
  readonly bytes: Buffer
  readonly truncated: boolean
}

/** One request on one socket. Ends exactly once, and is never sent twice. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #settle: (ending: ExchangeEnding) => void
  readonly #chunks: Buffer[] = []
  #size = 0
  #status: number | null = null
  #headers: Headers = {}
  #controller: Dispatcher.DispatchController | null = null
  #ended = false

  constructor(settle: (ending: ExchangeEnding) => void) {
    this.#settle = settle
  }

  /** Called right before the first byte is written; aborting here leaves the request unsent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended) {
      controller.abort(new Error('nobody waits for this call any more'))
      return
    }
    if (this.#controller !== null) {
      // A client that sends again on its own account would buy twice.
      this.cut('RESENT', 'the connection broke and the client tried to send again')
      controller.abort(new Error('sent once already'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 103 and its like announce a response; they are none.
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size <= bodyCap) return
    this.#end(null, true)
    this.#controller?.abort(new Error('the body is longer than is kept'))
  }

  onResponseEnd(): void {
    this.#end(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
    // A host with several addresses that all refuse gives an error without a message.
    this.#end({ code, message: error.message === '' ? code : error.message })
  }

  /** Ends the exchange from our side: a deadline, or a signal. */
  cut(code: string, message: string): void {
    if (this.#ended) return
    this.#end({ code, message })
    this.#controller?.abort(new Error(message))
  }

  #end(failure: ExchangeEnding['failure'], truncated = false): void {
    if (this.#ended) return
    this.#ended = true
    const [only] = this.#chunks
    const all = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks)
    this.#settle({
      sent: this.#controller !== null,
      failure,
      status: this.#status,
      headers: this.#headers,
      bytes: truncated ? all.subarray(0, bodyCap) : all,
      truncated,
    })
  }
}

/** Ends calls when their signal says so. One listener per signal: hundreds on one would be taken for a leak. */
class Stops {
  readonly #inFlight = new WeakMap<AbortSignal, Set<Exchange>>()

  add(signal: AbortSignal, exchange: Exchange): void {
    const others = this.#inFlight.get(signal)
    if (others !== undefined) {
      others.add(exchange)
      return
    }
    const exchanges = new Set([exchange])
    this.#inFlight.set(signal, exchanges)
    const cutAll = () => {
      for (const each of exchanges) stop(each)
    }
    signal.addEventListener('abort', cutAll, { once: true })
  }

  delete(signal: AbortSignal, exchange: Exchange): void {
    this.#inFlight.get(signal)?.delete(exchange)
  }
}

/** Ends one call for a reason of our own. */
function stop(exchange: Exchange): void {
  exchange.cut('ABORTED', 'stopped by this program')
}

/** Longest body that is kept, in bytes after decompression: an answer of 100 results has about 50 kB. */
export const bodyCap = 16 * 1024 * 1024

interface Body {
  readonly bytes: Buffer
  readonly truncated: boolean
}

const decoders: Readonly<Record<string, () => Gunzip | ReturnType<typeof createBrotliDecompress>>> =
  {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  }

/**
 * Undoes a compression that we did not ask for. What ends too early or grows too long is marked, never silently short;
 * a compression that we do not know is kept as it came.
 */
export async function inflate(bytes: Buffer, encoding: string): Promise<Body> {
  const open = decoders[encoding.trim().toLowerCase()]
  if (open === undefined || bytes.length === 0) return { bytes, truncated: false }
  const decoder = open()
  const chunks: Buffer[] = []
  let size = 0
  let whole = true
  decoder.end(bytes)
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      // Leaving the loop destroys the decoder: a bomb costs no more memory than the cap.
      if (size > bodyCap) break
    }
  } catch {
    // Cut or corrupt: what could be read is kept as evidence, and says that it is not all.
    whole = false
  }
  // Nothing of it is compressed that way: the label was wrong, and what came is all there is.
  if (size === 0 && !whole) return { bytes, truncated: false }
  const inflated = Buffer.concat(chunks)
  return size > bodyCap
    ? { bytes: inflated.subarray(0, bodyCap), truncated: true }
    : { bytes: inflated, truncated: !whole }
}

// Under load a socket is used again within milliseconds. One that idles longer may be closed by the server just as we
// send, which loses a paid call; a server that names its own limit is believed, less two seconds.
const idleMs = 1000
const longestIdleMs = 30_000
// After a socket broke before any response each call gets a socket of its own for this long: the server closes idle ones early.
const warinessMs = 60_000
const staleCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Cookies and tracing headers of a gateway may come to this many bytes; the client's own limit of 16 kB loses paid answers. */
const longestHeader = 64 * 1024

/** Connects sockets that skip an unasked `100 Continue`: the client takes it for a bad response and loses a paid answer. */
function connector(timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout })
  return (options, callback) =>
    connect(options, (...ended) => {
      const [, socket] = ended
      if (socket instanceof Socket) skipContinue(socket)
      callback(...ended)
    })
}

/** No JSON body holds such a line: it would need a raw line break. */
function skipContinue(socket: Socket): void {
  const read = (size?: number) => Socket.prototype.read.call(socket, size) as Buffer | null
  let begun: Buffer = Buffer.alloc(0)
  socket.read = (size) => {
    for (;;) {
      const chunk = read(size)
      if (chunk === null) return null
      const bytes = begun.length === 0 ? chunk : Buffer.concat([begun, chunk])
      begun = Buffer.alloc(0)
      const response = afterContinue(bytes)
      if (response === null) begun = bytes
      else if (response.length > 0) return response
    }
  }
}

/** The bytes after every `100 Continue` that they begin with; null while one of those is not whole. */
function afterContinue(bytes: Buffer): Buffer | null {
  let rest = bytes
  while (rest[0] === 0x48 && /^HTTP\/1\.\d 100\b/.test(rest.toString('latin1', 0, 13))) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return null
    rest = rest.subarray(end + 4)
  }
  return rest
}

interface SocketOptions {
  readonly lanes: number
  readonly timeoutMs: number
}

/** Connections to one server, no more than lanes. Nothing is connected before it is needed. */
class Sockets {
  readonly #kept: Pool
  readonly #single: Pool
  #waryUntil = 0

  constructor(origin: string, { lanes, timeoutMs }: SocketOptions) {
    const shared = {
      connections: lanes,
      connect: connector(Math.min(timeoutMs, 10_000)),
      maxHeaderSize: longestHeader,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: longestIdleMs,
      // One deadline holds for the whole request, and it is ours.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    this.#kept = new Pool(origin, { ...shared, pipelining: 1 })
    this.#single = new Pool(origin, { ...shared, pipelining: 0 })
  }

  /** The pool for the next call. */
  pool(): Pool {
    return performance.now() < this.#waryUntil ? this.#single : this.#kept
  }

  /** Learns from a socket that broke before any response. */
  learn({ sent, status, failure }: ExchangeEnding): void {
    if (!sent || status !== null || !staleCodes.has(failure?.code ?? '')) return
    this.#waryUntil = performance.now() + warinessMs
  }

  /** Cuts what is in flight. */
  async close(): Promise<void> {
    await Promise.all([this.#kept.destroy(), this.#single.destroy()])
  }
}
