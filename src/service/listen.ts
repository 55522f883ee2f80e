// Opens the HTTP port, and refuses malformed requests in the error format.

import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { codeOf, reasonOf, Unreachable } from '../base/errors.ts'
import { ourFault, Refusal } from './refusal.ts'
import { jsonType, newRequestId, type Replying, secureHeaders } from './reply.ts'

const limits = {
  maxHeaderSize: 65_536,
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5000,
  // The Host header is checked below, so that this error has the format of the other errors.
  requireHostHeader: false,
}

const arrivals = new WeakMap<http.IncomingMessage, number>()

/** Time at which a request's head arrived, as a `performance.now()` value. */
export function arrivalOf(request: http.IncomingMessage): number {
  return arrivals.get(request) ?? performance.now()
}

let accepted = 0
let accepting: Promise<void> | null = null

/**
 * Waits until all pending connections are accepted or a time limit is reached. Node accepts one connection per turn of
 * its event loop, so without this pause, a new client could wait for hundreds of busy turns.
 */
export function untilAccepted(): Promise<void> {
  return (accepting ??= acceptAll().finally(() => (accepting = null)))
}

async function acceptAll(): Promise<void> {
  const end = performance.now() + 250
  for (let before = -1; accepted > before && performance.now() < end;) {
    before = accepted
    // Waits twice, because the first wait may end in the current turn. Connections are accepted between the waits.
    await setImmediate()
    await setImmediate()
  }
}

// Refusals for requests that Node itself rejects, by error code.
const rejections: Readonly<Record<string, Refusal | undefined>> = {
  HPE_HEADER_OVERFLOW: new Refusal(431, 'The request is too large'),
  ERR_HTTP_REQUEST_TIMEOUT: new Refusal(408, 'The request took too long'),
}
const notHttp = new Refusal(400, 'The request is not valid HTTP')
const wrongAddress = new Refusal(400, 'The address or the Host header of the request is not valid')

export async function listen(
  answer: (request: Request, connection: HttpBindings) => Response | Promise<Response>,
  where: Replying & { host: string; port: number },
) {
  const listener = getRequestListener((request, env) => answer(request, env as HttpBindings), {
    // Valid HTTP can have an invalid address, such as a Host header that contains a slash, or `OPTIONS *`.
    errorHandler: (error) => {
      const refusal = error instanceof RequestError ? wrongAddress : ourFault
      const { body, headers } = writeRefusal(refusal, where)
      return new Response(body, { status: refusal.status, headers })
    },
  })
  const refuse = (refusal: Refusal, socket: Duplex | null) => refuseSocket(refusal, socket, where)
  const answerWhole = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    // Only the bodies of forms are used.
    const problem = request.method === 'POST' ? null : await readAway(request)
    // The connection may already be closed after pipelined input.
    if (problem === 'broken' || request.socket.writableEnded) return
    if (problem !== null) return refuse(problem, response.socket)
    // The connection is closed, because Node reads no further requests after an Upgrade header.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    await untilAccepted()
    await listener(request, response)
  }
  const server = http.createServer(limits, (request, response) => {
    arrivals.set(request, performance.now())
    // Pipelined requests after a refused request are ignored.
    if (request.socket.writableEnded) return
    // Node uses the first Host header, but a proxy may use another.
    if (request.headersDistinct.host?.length === 1) void answerWhole(request, response)
    else refuse(new Refusal(400, 'The request must have one Host header'), response.socket)
  })
  server.on('connection', () => (accepted += 1))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuse(rejections[error.code ?? ''] ?? notHttp, socket)
  })
  server.on('checkExpectation', (_request, { socket }: http.ServerResponse) => {
    refuse(new Refusal(417, 'Only Expect: 100-continue is supported'), socket)
  })
  server.on('connect', (_request, socket) => {
    refuse(new Refusal(405, 'CONNECT is not supported', { allow: 'GET' }), socket)
  })
  const url = await bind(server, where)
  return { server, port: Number(new URL(url).port), url }
}

async function bind(server: Server, where: { host: string; port: number }): Promise<string> {
  // If the backlog is full, a client retries only after several seconds.
  server.listen({ port: where.port, host: where.host, backlog: 4096 })
  await once(server, 'listening').catch((cause: unknown) => {
    const text = `cannot listen on port ${where.port} on ${where.host}: ${codeOf(cause) ?? reasonOf(cause)}; choose another port or address with --port or --host`
    throw new Unreachable(text, { cause })
  })
  const { port } = server.address() as AddressInfo
  // If the service listens on all interfaces, the URL contains the loopback address.
  const host = where.host === '0.0.0.0' || where.host === '::' ? '127.0.0.1' : where.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function writeRefusal(refusal: Refusal, { publicUrl, log }: Replying) {
  const id = newRequestId()
  log.info({ request: id, status: refusal.status }, 'refused because the request was incomplete')
  const headers = { ...refusal.headers, ...secureHeaders, ...jsonType, 'x-request-id': id }
  return { body: JSON.stringify(refusal.body(publicUrl())), headers }
}

/** Replaces Node's default response, and closes the connection. */
function refuseSocket(refusal: Refusal, socket: Duplex | null, replying: Replying): void {
  if (socket?.writable !== true) return void socket?.destroy()
  const { status } = refusal
  const { body, headers } = writeRefusal(refusal, replying)
  const length = String(Buffer.byteLength(body))
  const all = { ...headers, 'content-length': length, connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\n${lines.join('')}`
  socket.end(`${head}\r\n${body}`)
}

/** Refuses other methods before any route is matched, because HEAD would run a search. */
export function checkRequest({ method, url }: Pick<Request, 'method' | 'url'>): void {
  const isForm = method === 'POST' && /^\/(usage$|dashboard\/)/.test(new URL(url).pathname)
  if (method !== 'GET' && !isForm) {
    throw new Refusal(405, `${method} is not supported`, { allow: 'GET' })
  }
  if (url.length > 16_384) throw new Refusal(414, 'The address is too long')
}

/** Waits for requests in progress, and closes connections that remain after the grace period. */
export async function closeServer(server: http.Server, graceMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await new Promise((resolve) => void server.close(resolve))
  clearTimeout(timer)
}

const largestBody = 65_536

/** Discards a body. If the body is incomplete, no search may be started or charged. */
async function readAway(request: http.IncomingMessage): Promise<Refusal | 'broken' | null> {
  const length = Number(request.headers['content-length'] ?? 0)
  const chunked = request.headers['transfer-encoding'] !== undefined
  if (!chunked && length === 0) return null
  // Node never reads the body of a request with an Upgrade header.
  if (request.headers.upgrade !== undefined) {
    return new Refusal(400, 'A request that asks for another protocol must not have a body')
  }
  const tooLarge = new Refusal(413, 'The body is too large; send no body')
  if (length > largestBody) return tooLarge
  let size = 0
  try {
    const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > largestBody) return tooLarge
    }
    return null
  } catch {
    return 'broken'
  }
}
