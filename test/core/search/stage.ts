import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import {
  type AddressInfo,
  createServer as createSocketServer,
  type Server,
  type Socket,
} from 'node:net'
import { onTestFinished } from 'vitest'
import type { Query } from '../../../src/base/query.ts'
import { Secret } from '../../../src/base/secret.ts'
import { type Api, openApi } from '../../../src/core/search/call.ts'

export const key = new Secret('sk_live_0123456789abcdef')

export function query(q = 'red shoes', more: Partial<Query> = {}): Query {
  return { q, location: null, hl: null, gl: null, num: 10, device: null, ...more }
}

/** An API that answers as the test says, on its own port; closed when the test ends. */
export async function stageApi(listener: RequestListener, more: Partial<Options> = {}) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    listener(request, response)
  })
  const url = await listen(server)
  return { url, requests, api: open(url, more) }
}

/** An API made of plain sockets, for behaviour that no web server would show. */
export async function stageSockets(
  listener: (socket: Socket) => void,
  more: Partial<Options> = {},
) {
  const sockets = new Set<Socket>()
  const server = createSocketServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    listener(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  const url = await listen(server)
  return { url, sockets, api: open(url, more) }
}

interface Options {
  readonly timeoutMs: number
  readonly lanes: number
  readonly protocol: string
  readonly path: string
}

export function open(url: URL, more: Partial<Options> = {}): Api {
  const { timeoutMs = 20_000, lanes = 4, protocol = 'http:', path = '/' } = more
  const base = new URL(`${protocol}//${url.host}${path}`)
  const api = openApi({ url: base, key, timeoutMs, lanes })
  onTestFinished(() => api.close())
  return api
}

async function listen(server: Server): Promise<URL> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    server.close()
    if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function') {
      server.closeAllConnections()
    }
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}
