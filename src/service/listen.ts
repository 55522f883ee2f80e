// Opens the HTTP port, and refuses malformed requests in the error format.

import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { AddressInfo, Server as TcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { codeOf, reasonOf, Unreachable } from '../base/errors.ts'
import { ourFault, Refusal } from './refusal.ts'
import { jsonType, newRequestId, type Replying, secureHeaders } from './reply.ts'

interface Where extends Replying {
  readonly host: string
  readonly port: number
}

const longestUrl = 16_384
const limits = {
  maxHeaderSize: 65_536,
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5000,
  // The Host header is checked below instead, so that this error has the same format as the other errors.
  requireHostHeader: false,
}

const arrivals = new WeakMap<IncomingMessage, number>()

/** Time on the `performance.now()` clock at which a request's head arrived. */
export function arrivalOf(request: IncomingMessage): number {
  return arrivals.get(request) ?? performance.now()
}

let accepted = 0
let accepting: Promise<void> | null = null

/**
 * Waits until all waiting connections are accepted, or until a time limit is reached. Node accepts one connection per
 * turn of its event loop, so while searches fill the turns, a new client would wait behind hundreds of other
 * connections.
 */
export function untilAccepted(): Promise<void> {
  return (accepting ??= acceptAll().finally(() => (accepting = null)))
}

async function acceptAll(): Promise<void> {
  const end = performance.now() + 250
  let before: number
  do {
    before = accepted
    // The first call may end in a turn of the event loop that has already begun. Connections are accepted between the
    // two calls.
    await setImmediate()
    await setImmediate()
  } while (accepted > before && performance.now() < end)
}

// Refusals for input that Node rejects before it becomes a request, by error code.
const rejections: Readonly<Record<string, Refusal | undefined>> = {
  HPE_HEADER_OVERFLOW: new Refusal(431, 'The request is too large'),
  ERR_HTTP_REQUEST_TIMEOUT: new Refusal(408, 'The request took too long'),
}
const notHttp = new Refusal(400, 'The request is not valid HTTP')
const wrongAddress = new Refusal(400, 'The address or the Host of the request is not valid')

/** Listens on the port. Input that never becomes a request is also answered in the error format. */
export async function listen(
  answer: (request: Request, connection: HttpBindings) => Response | Promise<Response>,
  where: Where,
) {
  const listener = getRequestListener((request, env) => answer(request, env as HttpBindings), {
    overrideGlobalObjects: false,
    // Handles valid HTTP with an invalid address, such as a Host header that contains a slash, or `OPTIONS *`.
    errorHandler: (error) => {
      const refusal = error instanceof RequestError ? wrongAddress : ourFault
      const { body, headers } = writeRefusal(refusal, where)
      return new Response(body, { status: refusal.status, headers })
    },
  })
  const refuse = (refusal: Refusal, socket: Duplex | null) => refuseSocket(refusal, socket, where)
  /** Handles a request after its body has arrived. Only dashboard forms have a body that is read. */
  const answerWhole = async (request: IncomingMessage, response: ServerResponse) => {
    const problem = request.method === 'POST' ? null : await readAway(request)
    // Pipelined input may have closed the connection in the meantime.
    if (problem === 'broken' || request.socket.writableEnded) return
    if (problem !== null) return refuse(problem, response.socket)
    // Node does not read further requests after an Upgrade header. If the connection were not closed, it would hang.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    await untilAccepted()
    await listener(request, response)
  }
  const server = createServer(limits, (request, response) => {
    arrivals.set(request, performance.now())
    // Pipelined requests after a refused request are ignored.
    if (request.socket.writableEnded) return
    // If there are several Host headers, Node uses the first, but a proxy in front of Node may have used another.
    if (request.headersDistinct.host?.length === 1) void answerWhole(request, response)
    else refuse(new Refusal(400, 'The request must name one host'), response.socket)
  })
  server.on('connection', () => (accepted += 1))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuse(rejections[error.code ?? ''] ?? notHttp, socket)
  })
  server.on('checkExpectation', (_request, { socket }: ServerResponse) => {
    refuse(new Refusal(417, 'Only Expect: 100-continue is supported'), socket)
  })
  server.on('connect', (_request, socket) => {
    refuse(new Refusal(405, 'CONNECT is not supported', { allow: 'GET' }), socket)
  })
  const url = await bind(server, where)
  return { server, port: Number(new URL(url).port), url }
}

export function bindLoopback(server: TcpServer, port: number): Promise<string> {
  return bind(server, { host: '127.0.0.1', port })
}

// A client beyond this limit retries only after several seconds. The operating system may allow fewer connections.
const mostUnaccepted = 4096

async function bind(server: TcpServer, where: { host: string; port: number }): Promise<string> {
  server.listen({ port: where.port, host: where.host, backlog: mostUnaccepted })
  await once(server, 'listening').catch((cause: unknown) => {
    const text = `expected port ${where.port} of ${where.host} to be free and of this machine, got ${codeOf(cause) ?? reasonOf(cause)}; choose another with --port or --host`
    throw new Unreachable(text, { cause })
  })
  const { port } = server.address() as AddressInfo
  // For a service that listens on all interfaces, the URL contains an address that a user can type.
  const host = where.host === '0.0.0.0' || where.host === '::' ? '127.0.0.1' : where.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function writeRefusal(refusal: Refusal, { publicUrl, log }: Where) {
  const id = newRequestId()
  log.info({ request: id, status: refusal.status }, 'answered before it was a request')
  const headers = { ...refusal.headers, ...secureHeaders, ...jsonType, 'x-request-id': id }
  return { body: JSON.stringify(refusal.body(publicUrl())), headers }
}

/** Writes a refusal to the raw socket, in place of Node's bare response, and closes the connection. */
function refuseSocket(refusal: Refusal, socket: Duplex | null, where: Where): void {
  if (socket?.writable !== true) return void socket?.destroy()
  const { body, headers } = writeRefusal(refusal, where)
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}\r\n${lines.join('')}\r\n${body}`,
  )
}

/** Checks a request before any route. HEAD would run a search if it were not refused here. */
export function checkRequest({ method, url }: Pick<Request, 'method' | 'url'>): void {
  if (method !== 'GET' && !(method === 'POST' && forms.test(new URL(url).pathname))) {
    throw new Refusal(405, `${method} is not supported`, { allow: 'GET' })
  }
  if (url.length > longestUrl) throw new Refusal(414, 'The address is too long')
}

const forms = /^\/(usage$|dashboard\/)/

/** Waits up to the grace period for requests in flight, and then closes their connections. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await new Promise((resolve) => void server.close(resolve))
  clearTimeout(timer)
}

const largestBody = 65_536

/** Discards a body that is not needed. A request whose body is cut off must be neither searched nor charged. */
async function readAway(request: IncomingMessage): Promise<Refusal | 'broken' | null> {
  const length = Number(request.headers['content-length'] ?? 0)
  const chunked = request.headers['transfer-encoding'] !== undefined
  if (!chunked && length === 0) return null
  // After an Upgrade header, Node reads no body, whether the upgrade is accepted or not.
  if (request.headers.upgrade !== undefined) {
    return new Refusal(400, 'A request that asks for another protocol must not have a body')
  }
  const tooLarge = new Refusal(413, 'The body is too large; none is needed')
  if (length > largestBody) return tooLarge
  return await new Promise((resolve) => {
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > largestBody) resolve(tooLarge)
    })
    request.once('end', () => resolve(null))
    request.once('error', () => resolve('broken'))
    request.once('close', () => resolve('broken'))
  })
}
