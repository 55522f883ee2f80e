import { createServer } from 'node:net'

/** True when nobody listens on the port of this machine. */
export async function isFree(port: number): Promise<boolean> {
  return (await listen(port)) !== null
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const port = await listen(0)
  if (port === null) throw new Error('expected a free port, got none')
  return port
}

function listen(port: number): Promise<number | null> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(null))
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      const found = typeof address === 'object' && address !== null ? address.port : null
      server.close(() => done(found))
    })
  })
}
