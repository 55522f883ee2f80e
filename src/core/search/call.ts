// Sends a paid request, and reads the reply within the timeout.

import { Socket } from 'node:net'
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { isLoopback } from '../../base/address.ts'
import { BadSettings } from '../../base/errors.ts'
import type { Query } from '../../base/query.ts'
import { scrub, type Secret } from '../../base/secret.ts'

export type Reply =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly body: Buffer
      /** True if the body exceeds the size limit, or if its compressed data ends too early. */
      readonly truncated: boolean
      readonly retryAfter: string | null
      /** Time during which the API repeats an answer to the same idempotency key; null if not reported. */
      readonly replayMs: number | null
      readonly receivedAt: Date
    }
  /** The request was certainly not sent, because no byte was written to a socket. */
  | { readonly kind: 'unsent'; readonly code: string; readonly message: string }
  /** The request was sent and may have been charged, but no complete response arrived. */
  | {
      readonly kind: 'lost'
      readonly code: string
      readonly message: string
      readonly status: number | null
      readonly partial: Buffer | null
      readonly receivedAt: Date
    }

export type Api = ReturnType<typeof openApi>

interface ApiOptions {
  readonly url: URL
  readonly key: Secret
  /** Time limit for the whole request, from connecting to the body's last byte. */
  readonly timeoutMs: number
  readonly lanes: number
}

export function openApi({ url, timeoutMs, lanes, ...given }: ApiOptions) {
  checkKey(url, given.key)
  let key = given.key
  const sockets = openSockets(url.origin, { lanes, timeoutMs })
  const headers = {
    accept: 'application/json',
    // Compression saves a few kilobytes, but costs more CPU time than everything else in a call.
    'accept-encoding': 'identity',
    'user-agent': 'querymill',
  }
  const exchange = (query: Query, mark: string | null) =>
    new Promise<ExchangeEnding>((resolve) => {
      const current = new Exchange((ending) => {
        clearTimeout(deadline)
        resolve(ending)
      })
      const cut = () => current.cut('TIMEOUT', `no complete response within ${timeoutMs} ms`)
      const due = performance.now() + timeoutMs
      const deadline = setTimeout(() => lookOnceMore(due, cut), timeoutMs)
      const own = mark === null ? headers : { 'idempotency-key': mark, ...headers }
      const authorization = `Bearer ${key.reveal()}`
      const path = searchPath(url, query)
      sockets.pool().dispatch({ method: 'GET', path, headers: { authorization, ...own } }, current)
    })
  return {
    /** Makes a call. Returns every outcome as a reply, and never throws. */
    call: async (query: Query, mark: string | null = null): Promise<Reply> => {
      const ending = await exchange(query, mark)
      sockets.learn(ending)
      return readEnding(ending, key)
    },
    /** Switches to a new API key. Call this only while no request is in flight. */
    turnKey: (next: Secret) => {
      checkKey(url, next)
      key = next
    },
    close: () => sockets.close(),
  }
}

// If this process was frozen, sockets may hold complete answers to calls whose deadlines have passed. Each socket is
// read in small pieces.
const frozenMs = 250
const readingMs = 500
/** Number of event-loop turns to wait after `readingMs`. A busy machine may spend all of `readingMs` on other work. */
const looks = 50

/** Aborts a paid call, but first reads data that has already arrived, because timers run before socket reads. */
function lookOnceMore(due: number, cut: () => void): void {
  if (performance.now() - due > frozenMs) setTimeout(() => afterLooks(looks, cut), readingMs)
  else afterLooks(2, cut)
}

function afterLooks(left: number, then: () => void): void {
  setImmediate(() => (left > 1 ? afterLooks(left - 1, then) : then()))
}

/** Rejects a key that cannot be sent in a header. The client's own error message would contain the key. */
function checkKey(url: URL, key: Secret): void {
  const problems: string[] = []
  if (!/^[\x21-\x7e]+$/.test(key.reveal())) {
    problems.push(
      `SEARCH_API_KEY: expected one word of printable ASCII characters, got ${key.describe()}`,
    )
  }
  if (url.protocol !== 'https:' && !isLoopback(url.hostname)) {
    problems.push(`SEARCH_API_URL: expected https, got ${url.protocol}//${url.hostname}`)
  }
  if (problems.length > 0) throw new BadSettings(problems)
}

/** Builds the path of a search URL. Null parameters are omitted, and the key is never sent as a parameter. */
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
  const body = encoding === null || ending.truncated ? ending : await inflate(bytes, encoding)
  const window = first(ending.headers['x-idempotency-window']) ?? ''
  const seconds = /^\d{1,9}$/.test(window.trim()) ? Number(window) : 0
  return {
    kind: 'response',
    status,
    body: mask(body.bytes, key),
    truncated: body.truncated,
    retryAfter,
    replayMs: seconds === 0 ? null : seconds * 1_000,
    receivedAt,
  }
}

/** Masks the key in a body, because people who must not see the key can read the stored rows. */
function mask(bytes: Buffer, key: Secret): Buffer {
  const value = key.reveal()
  if (!bytes.includes(value)) return bytes
  return Buffer.from(bytes.toString('latin1').replaceAll(value, '*'.repeat(value.length)), 'latin1')
}

function first(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

export interface ExchangeEnding {
  /** False if no byte of the request was written to a socket. */
  readonly sent: boolean
  /** Error that ended the exchange, or null if the response is complete or too large. */
  readonly failure: { readonly code: string; readonly message: string } | null
  readonly status: number | null
  readonly headers: Headers
  readonly bytes: Buffer
  readonly truncated: boolean
}

/** A request on a socket. Each request is sent at most once and ends exactly once. */
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

  /** Called right before the first byte is written. If aborted at this point, the request is not sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended) {
      controller.abort(new Error('the caller is no longer waiting for this call'))
      return
    }
    if (this.#controller !== null) {
      // If the client retried on its own, the query would be bought twice.
      this.cut(
        'RESENT',
        'the connection broke, and the HTTP client tried to send the request again',
      )
      controller.abort(new Error('sent once already'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // Informational responses, such as 103, come before the actual response.
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
    this.#controller?.abort(new Error('the body is longer than the limit'))
  }

  onResponseEnd(): void {
    this.#end(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
    // If all addresses of a host refuse the connection, the error has no message.
    this.#end({ code, message: error.message === '' ? code : error.message })
  }

  /** Ends the exchange on our side when a deadline passes. */
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

/** Maximum size of a decompressed body in bytes. An answer with 100 results takes about 50 kB. */
export const bodyCap = 16 * 1024 * 1024

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/**
 * Decompresses a body that was compressed although compression was not requested. A body that is incomplete or too
 * large is marked as truncated. A body with an unknown encoding is kept as received.
 */
export async function inflate(bytes: Buffer, encoding: string) {
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
      // Leaving the loop destroys the decoder, so a decompression bomb can use only limited memory.
      if (size > bodyCap) break
    }
  } catch {
    // If the body is truncated or corrupt, the readable part is kept as evidence, and marked as incomplete.
    whole = false
  }
  // If nothing could be decoded, the encoding label is wrong, so the body is kept as received.
  if (size === 0 && !whole) return { bytes, truncated: false }
  const inflated = Buffer.concat(chunks)
  return size > bodyCap
    ? { bytes: inflated.subarray(0, bodyCap), truncated: true }
    : { bytes: inflated, truncated: !whole }
}

// Maximum idle time of a socket. A server may close an idle socket just as a request is sent, which would lose a paid
// call. Under load, sockets are reused within milliseconds. If the server announces an idle limit, ours is two
// seconds shorter.
const idleMs = 1000
const longestIdleMs = 30_000
// After a socket breaks without a response, each call uses its own socket for this period, because the server may
// close idle sockets early.
const warinessMs = 60_000
const staleCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Maximum size of response headers. The client's default (16 kB) could reject a paid answer with long cookies. */
const longestHeader = 64 * 1024

/** Connects sockets, and skips an unsolicited `100 Continue`, which would make the client lose the answer. */
function connector(timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout })
  return (options, callback) =>
    connect(options, (...ended) => {
      const [, socket] = ended
      if (socket instanceof Socket) skipContinue(socket)
      callback(...ended)
    })
}

/** Skips `100 Continue` responses. Their text cannot occur in a JSON body, because JSON escapes line breaks. */
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

/** Strips all leading `100 Continue` responses; returns null if one of them is incomplete. */
function afterContinue(bytes: Buffer): Buffer | null {
  let rest = bytes
  while (rest[0] === 0x48 && /^HTTP\/1\.\d 100\b/.test(rest.toString('latin1', 0, 13))) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return null
    rest = rest.subarray(end + 4)
  }
  return rest
}

function openSockets(
  origin: string,
  { lanes, timeoutMs }: Pick<ApiOptions, 'lanes' | 'timeoutMs'>,
) {
  const shared = {
    connections: lanes,
    connect: connector(Math.min(timeoutMs, 10_000)),
    maxHeaderSize: longestHeader,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: longestIdleMs,
    // Our own deadline covers the whole request.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  const kept = new Pool(origin, { ...shared, pipelining: 1 })
  const single = new Pool(origin, { ...shared, pipelining: 0 })
  let waryUntil = 0
  return {
    pool: () => (performance.now() < waryUntil ? single : kept),
    /** Switches to single-use sockets after a socket failed without a response. */
    learn: ({ sent, status, failure }: ExchangeEnding) => {
      if (!sent || status !== null || !staleCodes.has(failure?.code ?? '')) return
      waryUntil = performance.now() + warinessMs
    },
    close: async () => {
      await Promise.all([kept.destroy(), single.destroy()])
    },
  }
}
