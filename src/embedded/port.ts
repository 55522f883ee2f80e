import { createServer } from 'node:net'
import { pause } from '../shared/waiting.ts'

// A killed process lets go of its port a moment after its end, when its memory has been cleared away.
const lettingGoMs = 2_000

/** True as soon as nobody listens on the port of this machine; false when somebody goes on to. */
export async function becomesFree(port: number): Promise<boolean> {
  const deadline = Date.now() + lettingGoMs
  while ((await listen(port)) === null) {
    if (Date.now() > deadline) return false
    await pause(25)
  }
  return true
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
