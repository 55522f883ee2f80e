import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** Opens a server on this machine, and returns its address. Port 0 selects any free port. */
export async function bindLoopback(server: Server, port: number): Promise<string> {
  await once(server.listen({ port, host: '127.0.0.1', backlog: 4096 }), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
