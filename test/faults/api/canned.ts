import { createServer, type Socket } from 'node:net'
import { cost, makeKey } from '../../../src/service/keys.ts'
import { bindLoopback } from '../../support/loopback.ts'
import { BodyWriter } from './bodies.ts'

interface CannedOptions {
  readonly seed?: string
  readonly port?: number
  /** Minimum duration of every answer. */
  readonly latencyMs?: number
}

interface Canned {
  readonly url: string
  /** Any key is accepted; this one has the form of a live key. */
  readonly key: string
  readonly calls: () => number
  readonly connected: () => number
  close(): Promise<void>
}

const endOfHead = '\r\n\r\n'
const balance = 1_000_000_000_000

/**
 * Answers without any look-up and without Node's HTTP server, so that a client benchmark includes as little of the
 * server side as possible. It expects clients that use HTTP/1.1 correctly, and requests without a body.
 */
export async function startCanned(options: CannedOptions = {}): Promise<Canned> {
  const writer = new BodyWriter(options.seed ?? 'canned')
  let remaining = balance
  let calls = 0
  const answer = (path: string, socket: Socket): void => {
    const asked = readAsked(path)
    const used = cost(asked.num)
    remaining -= used
    calls += 1
    const body = writer.write(asked, { used, remaining })
    if (!socket.writable) return
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  const latencyMs = options.latencyMs ?? 0
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // A client may close the connection at any time, which is not an error.
    socket.on('error', () => undefined)
    readRequests(socket, (path) => {
      if (latencyMs === 0) answer(path, socket)
      else setTimeout(answer, latencyMs, path, socket)
    })
  })
  const url = await bindLoopback(server, options.port ?? 0)
  const close = async () => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const connected = () => sockets.size
  return { url, key: makeKey('live'), calls: () => calls, connected, close }
}

/** Reports the path of each request, however its bytes were split in transit. */
function readRequests(socket: Socket, tell: (path: string) => void): void {
  let head = ''
  socket.setEncoding('latin1')
  socket.on('data', (text) => {
    head += text.toString()
    for (let end = head.indexOf(endOfHead); end !== -1; end = head.indexOf(endOfHead)) {
      const [, path = '/'] = head.slice(0, head.indexOf('\r\n')).split(' ')
      head = head.slice(end + endOfHead.length)
      tell(path)
    }
  })
}

/** Reads the parameters that the answer depends on, leniently: nothing is rejected here. */
function readAsked(url: string): { q: string; num: number } {
  const params = new URLSearchParams(url.slice(url.indexOf('?') + 1))
  const num = Number(params.get('num') ?? 10)
  return {
    q: params.get('q') ?? '',
    num: Number.isInteger(num) && num >= 1 && num <= 100 ? num : 10,
  }
}
