import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import type { AddressInfo, Server as TcpServer } from 'node:net'
import { Unreachable } from '../shared/errors.ts'
import { Refusal } from './refusal.ts'

export type Answering = (request: Request) => Response | Promise<Response>

export interface Listening {
  readonly server: Server
  readonly port: number
  readonly url: string
}

const longestUrl = 16_384
const largestHead = 65_536

/** Opens the port. Bytes that Node refuses before they are a request are answered in the error shape too. */
export async function listen(
  answer: Answering,
  where: { host: string; port: number; docsUrl: () => string },
): Promise<Listening> {
  const listener = getRequestListener(answer, { overrideGlobalObjects: false })
  const server = createServer(
    { maxHeaderSize: largestHead, keepAliveTimeout: 65_000 },
    (request, response) => {
      void listener(request, response)
    },
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    refuseRaw(error, socket, where.docsUrl())
  })
  const url = await bind(server, where)
  return { server, port: Number(new URL(url).port), url }
}

/** Listens on this machine only, and says where. */
export function bindLoopback(server: TcpServer, port: number): Promise<string> {
  return bind(server, { host: '127.0.0.1', port })
}

// The address is wrong: another port would not help.
const strangeHosts = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL']

async function bind(server: TcpServer, where: { host: string; port: number }): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const got = cause.code ?? cause.message
      const expected = strangeHosts.includes(got)
        ? `${where.host} to be an address of this machine, got ${got}; choose another with --host`
        : `port ${where.port} of ${where.host} to be free, got ${got}; choose another with --port`
      reject(new Unreachable(`expected ${expected}`, { cause }))
    })
    server.listen(where.port, where.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  // A service that listens everywhere is shown by an address that can be typed.
  const host = where.host === '0.0.0.0' || where.host === '::' ? '127.0.0.1' : where.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function refuseRaw(error: NodeJS.ErrnoException, socket: Duplex, docsUrl: string): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal(431, 'The request is too large')
      : new Refusal(400, 'The request is no HTTP request')
  const body = JSON.stringify(refusal.body(docsUrl))
  socket.end(
    `HTTP/1.1 ${refusal.status} ${refusal.status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}\r\n` +
      'content-type: application/json; charset=utf-8\r\nconnection: close\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** Checked before any route: other methods spend nothing (HEAD would run a search), and length has a limit. */
export function checkRequest(request: Request): Refusal | null {
  if (request.method !== 'GET') {
    return new Refusal(405, `${request.method} is not answered here`, { allow: 'GET' })
  }
  if (request.url.length > longestUrl) return new Refusal(414, 'The address is too long')
  return null
}

/** Lets requests in work end, for as long as the grace lasts, then closes the rest. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(timer)
}
