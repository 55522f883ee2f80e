import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { becomesFree, freePort } from '../../../src/base/embedded/process.ts'

async function hold(port: number) {
  const server = createServer().listen(port, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return server
}

test('a port that is released a moment later becomes free', async () => {
  const port = await freePort()
  const server = await hold(port)
  const free = becomesFree(port)
  setTimeout(() => server.close(), 100)
  expect(await free).toBe(true)
})

test('a port that stays in use is not free', async () => {
  const port = await freePort()
  await hold(port)
  expect(await becomesFree(port)).toBe(false)
})
