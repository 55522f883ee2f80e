import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Shop } from './shop.ts'

let shop: Shop

beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.service.close())

/** Sends bytes and reads until the server ends the connection; optionally ends it from this side. */
async function say(words: string, { end = false } = {}): Promise<string> {
  const socket = connect({ port: shop.service.port, host: '127.0.0.1', allowHalfOpen: true })
  // A connection that is cut off while it is still sending has been answered, too.
  socket.on('error', () => undefined)
  socket.write(words, 'latin1')
  if (end) socket.end()
  return await text(socket).catch(() => '')
}

function head(key: string, ...fields: readonly string[]): string {
  const lines = ['Host: a', `Authorization: Bearer ${key}`, ...fields]
  return `GET /v1/search?q=open HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

const chunked = 'Transfer-Encoding: chunked'
const trailing = 'Connection: close'

async function spent(key: string): Promise<{ requests: number; credits: number }> {
  const { json } = await shop.ask('/v1/usage', key)
  const { days } = json as unknown as { days: { requests: number; credits: number }[] }
  const sum = (name: 'requests' | 'credits') => days.reduce((all, day) => all + day[name], 0)
  return { requests: sum('requests'), credits: sum('credits') }
}

describe('a GET with a truncated body', () => {
  test.each([
    ['a chunk without a length', chunked, '5\r\nhello\r\nZZ\r\n', false],
    ['a chunk longer than it says', chunked, '5\r\nhellooo\r\n0\r\n\r\n', false],
    ['chunks without an end', chunked, '5\r\nhello\r\n', true],
    ['a chunk cut off', chunked, '50\r\nhello', true],
    ['a trailer that is none', chunked, '5\r\nhello\r\n0\r\nno trailer\r\n\r\n', false],
    ['fewer bytes than its length', 'Content-Length: 50', 'hello', true],
    ['no byte of its length', 'Content-Length: 50', '', true],
    [
      'a broken chunk after an upgrade',
      `Upgrade: h2c\r\nConnection: Upgrade\r\n${chunked}`,
      'Z\r\n',
      false,
    ],
    ['a broken chunk after an expectation', `Expect: 100-continue\r\n${chunked}`, 'Z\r\n', false],
  ])('is a 400 that is neither searched for nor charged: %s', async (_, ...[field, body, end]) => {
    const key = await shop.live(5)
    const got = await say(`${head(key, field)}${body}`, { end })
    expect(got.match(/HTTP\/1\.1 [2-5]\d\d/g)).toEqual(['HTTP/1.1 400'])
    expect(got).toMatch(/\r\nx-request-id: req_[^]*"code":"BAD_REQUEST"/)
    expect(await spent(key)).toEqual({ requests: 0, credits: 0 })
  })

  test.each([
    ['by its length', 'Content-Length: 70000', ''],
    ['by its chunks', chunked, `11170\r\n${'x'.repeat(70_000)}\r\n0\r\n\r\n`],
  ])('or with more than 64 KB %s is not searched for either', async (_, field, body) => {
    const key = await shop.live(5)
    const got = await say(`${head(key, field)}${body}`)
    expect(got).toMatch(/^(HTTP\/1\.1 413 [^]*"code":"CONTENT_TOO_LARGE"[^]*)?$/)
    expect(await spent(key)).toEqual({ requests: 0, credits: 0 })
  })

  test('with a length over 64 KB is refused at once', async () => {
    expect(await say(head(await shop.live(5), 'Content-Length: 70000'))).toMatch(/^HTTP\/1\.1 413 /)
  })
})

describe('a GET with a complete body', () => {
  test.each([
    ['a length', 'Content-Length: 5', 'hello'],
    ['chunks', chunked, '5\r\nhello\r\n0\r\n\r\n'],
    ['chunks and a trailer', `Trailer: X-Sum\r\n${chunked}`, '5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n'],
    ['64 KB', 'Content-Length: 65536', 'x'.repeat(65_536)],
    ['nothing in it', 'Content-Length: 0', ''],
  ])(
    'is answered as without it, and so is the next on its connection: %s',
    async (_, field, body) => {
      const key = await shop.live(5)
      const got = await say(`${head(key, field)}${body}${head(key, trailing)}`)
      expect(got.match(/HTTP\/1\.1 [2-5]\d\d/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
      expect(await spent(key)).toEqual({ requests: 2, credits: 2 })
    },
  )

  test('that requests another protocol is answered in this one, on a connection that is then closed', async () => {
    const key = await shop.live(5)
    const got = await say(head(key, 'Upgrade: h2c', 'Connection: Upgrade'))
    expect(got).toMatch(/^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/i)
    expect(await spent(key)).toEqual({ requests: 1, credits: 1 })
  })

  test('is asked for where it expects to be, and then answered', async () => {
    const key = await shop.live(5)
    const got = await say(
      `${head(key, 'Expect: 100-continue', 'Content-Length: 5', trailing)}hello`,
    )
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200'])
    expect(await spent(key)).toEqual({ requests: 1, credits: 1 })
  })
})

describe('invalid bytes after a valid request', () => {
  test('do not affect it: it is answered and charged, or neither', async () => {
    const key = await shop.live(5)
    const got = await say(`${head(key)}nonsense\r\n\r\n`)
    const answered = got.includes('"credits_used":1') ? 1 : 0
    await expect.poll(async () => (await spent(key)).credits).toBe(answered)
    expect(got).toContain('HTTP/1.1 400')
  })
})
