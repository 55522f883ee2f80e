// const wire = await openWire(databaseUrl) → { url }: the same server over a wire of the test's own.
// `wire.holdReplies(when)`: what the server says is kept back as soon as `when` says so, until `wire.letGo()`.
// `wire.hush()`: nothing passes any more and nothing breaks, as when packets are dropped; `wire.close()` cuts it.
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Wire {
  readonly url: string
  readonly hush: () => void
  /** Asked before each piece that the server sends; once it says yes, this one and all after it wait. */
  readonly holdReplies: (when: () => boolean) => void
  readonly letGo: () => void
  readonly close: () => Promise<void>
}

export async function openWire(server: string): Promise<Wire> {
  const { hostname, port } = new URL(server)
  const sockets = new Set<Socket>()
  let hushed = false
  let when: (() => boolean) | null = null
  let holding = false
  const held: (() => void)[] = []
  const pass = (from: Socket, to: Socket, kept: () => boolean) => {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('close', () => to.destroy())
    from.on('data', (bytes) => {
      if (hushed) return
      if (kept()) held.push(() => to.write(bytes))
      else to.write(bytes)
    })
  }
  const listener = createServer((near) => {
    const far = createConnection(Number(port), hostname)
    pass(near, far, () => false)
    pass(far, near, () => (holding ||= when?.() ?? false))
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(server)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return {
    url: url.href,
    hush: () => (hushed = true),
    holdReplies: (decide) => (when = decide),
    letGo: () => {
      when = null
      holding = false
      for (const write of held.splice(0)) write()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
