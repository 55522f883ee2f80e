// const way = await openWay(databaseUrl, { down: 2 }) → { url, hangUp }: a proxy to the same server that fails its
// first callers, and whose connections `hangUp` ends in an orderly way, like a server that is stopped.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Way {
  readonly url: string
  readonly hangUp: () => void
}

export async function openWay(url: string, { down = 0 } = {}): Promise<Way> {
  const callers = new Set<Socket>()
  let left = down
  const way = createServer((caller) => {
    callers.add(caller)
    caller.on('error', () => undefined)
    if (left > 0) {
      left -= 1
      return caller.end()
    }
    const server = connect(Number(new URL(url).port), new URL(url).hostname)
    server.on('error', () => undefined)
    caller.pipe(server)
    return server.pipe(caller)
  })
  await once(way.listen(0, '127.0.0.1'), 'listening')
  const hangUp = () => {
    left = Infinity
    for (const caller of callers) caller.end()
  }
  onTestFinished(() => {
    hangUp()
    way.close()
  })
  const there = new URL(url)
  there.port = String((way.address() as AddressInfo).port)
  return { url: there.href, hangUp }
}
