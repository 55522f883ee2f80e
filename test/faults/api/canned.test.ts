import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startCanned } from './canned.ts'

async function open() {
  const canned = await startCanned()
  onTestFinished(() => canned.close())
  return canned
}

test('the canned stand-in answers like the API, with a different answer for each query', async () => {
  const { url, calls } = await open()
  const ask = async (q: string) => {
    const response = await fetch(`${url}/v1/search?q=${encodeURIComponent(q)}&num=10`)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    return (await response.json()) as Record<string, unknown>
  }
  const [first, second] = await Promise.all([ask('red shoes'), ask('größe & preis')])
  expect(first).toMatchObject({ success: true, query: 'red shoes', credits_used: 1 })
  expect(second).toMatchObject({ success: true, query: 'größe & preis' })
  expect(first['organic_results']).toHaveLength(10)
  expect(calls()).toBe(2)
})

test('the canned stand-in accepts requests however their bytes are split, and answers them in order', async () => {
  const { url, calls } = await open()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  const two = ['one', 'two'].map(
    (q) => `GET /v1/search?q=${q}&num=1 HTTP/1.1\r\nhost: here\r\n\r\n`,
  )
  for (const byte of two.join('').match(/[\s\S]{1,7}/g) ?? []) socket.write(byte)
  await expect.poll(() => text.match(/"query":"\w+"/g)).toEqual(['"query":"one"', '"query":"two"'])
  expect(calls()).toBe(2)
  socket.destroy()
})

test('the canned stand-in ends although a client is still connected', async () => {
  const canned = await startCanned({ latencyMs: 60_000 })
  const asked = fetch(`${canned.url}/v1/search?q=late`).then(
    () => 'answered',
    () => 'cut',
  )
  await expect.poll(() => canned.connected()).toBe(1)
  await canned.close()
  expect(await asked).toBe('cut')
})
