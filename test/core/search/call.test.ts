import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { canonicalText } from '../../../src/base/query.ts'
import { Secret } from '../../../src/base/secret.ts'
import { bodyCap, openApi } from '../../../src/core/search/call.ts'
import { key, open, query, stageApi, stageSockets } from './stage.ts'

const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'

describe('a request', () => {
  test('carries the key in its header and nowhere in its address', async () => {
    const { api, requests } = await stageApi((_, response) => response.end('{}'), {
      path: '/base/',
    })
    const reply = await api.call(query('a & b', { hl: 'de', device: 'mobile' }))
    expect(reply).toMatchObject({ kind: 'response', status: 200, truncated: false })
    const [request] = requests
    expect(request?.url).toBe('/base/v1/search?q=a+%26+b&hl=de&num=10&device=mobile')
    expect(request?.headers.authorization).toBe(`Bearer ${key.reveal()}`)
    expect(request?.headers['accept-encoding']).toBe('identity')
  })

  test('sends exactly the given q, whatever it contains', async () => {
    let heard: string | null = null
    const { api } = await stageApi((request, response) => {
      heard = new URL(request.url ?? '', 'http://a').searchParams.get('q')
      response.end('{}')
    })
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 60 }), async (text) => {
        const q = canonicalText(text)
        await api.call(query(q))
        expect(heard).toBe(q)
      }),
      { numRuns: 150 },
    )
  })

  test('is refused before it is made when the key cannot stand in a header, and the error does not show it', () => {
    const bad = new Secret('sk_live_secret\r\nx: y')
    const attempt = () =>
      openApi({ url: new URL('https://api.example.com'), key: bad, timeoutMs: 1, lanes: 1 })
    expect(attempt).toThrow(/SEARCH_API_KEY: expected one word/)
    expect(attempt).not.toThrow(/secret/)
  })

  test('is refused over plain http to another machine', () => {
    const url = new URL('http://api.example.com')
    expect(() => openApi({ url, key, timeoutMs: 1, lanes: 1 })).toThrow(/expected https/)
  })
})

describe('a call that was provably not sent', () => {
  test('is unsent when the connection is refused', async () => {
    const { url, api, sockets } = await stageSockets(() => undefined)
    await api.close()
    expect(sockets.size).toBe(0)
    const closed = new URL(url)
    closed.port = '1'
    expect(await open(closed).call(query())).toMatchObject({ kind: 'unsent', code: 'ECONNREFUSED' })
  })

  test('is unsent if the server does not support TLS', async () => {
    const { api } = await stageSockets((socket) => socket.end('no'), { protocol: 'https:' })
    expect(await api.call(query())).toMatchObject({ kind: 'unsent' })
  })

  test('is unsent if the deadline passes before there is a connection', async () => {
    const { api } = await stageSockets(() => undefined, { protocol: 'https:', timeoutMs: 300 })
    expect(await api.call(query())).toMatchObject({ kind: 'unsent' })
  })
})

describe('a call whose answer was lost', () => {
  test('ends at the deadline if the server never answers', async () => {
    const { api } = await stageSockets(() => undefined, { timeoutMs: 300 })
    expect(await api.call(query())).toMatchObject({
      kind: 'lost',
      code: 'TIMEOUT',
      status: null,
      partial: null,
    })
  })

  test('ends at the deadline if the body arrives too slowly', async () => {
    const { api } = await stageApi(
      (_, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write(' '), 20)
        response.on('close', () => clearInterval(drip))
      },
      { timeoutMs: 2_000 },
    )
    const reply = await api.call(query())
    expect(reply).toMatchObject({ kind: 'lost', code: 'TIMEOUT', status: 200 })
    expect(reply.kind === 'lost' && reply.partial?.toString().trim()).toBe('')
  })

  test('is sent once if the connection is reset, and then possibly charged', async () => {
    let heard = 0
    const { api } = await stageSockets((socket) => {
      socket.on('data', () => {
        heard += 1
        socket.resetAndDestroy()
      })
    })
    expect(await api.call(query())).toMatchObject({ kind: 'lost', status: null })
    expect(heard).toBe(1)
  })

  test.each([
    ['shorter than announced', 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"a":1'],
    ['cut between chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{"a":1\r\n'],
  ])('keeps the received part of a body that is %s', async (_, text) => {
    const { api } = await stageSockets((socket) => socket.once('data', () => socket.end(text)))
    const reply = await api.call(query())
    expect(reply).toMatchObject({ kind: 'lost', status: 200 })
    expect(reply.kind === 'lost' && reply.partial?.toString()).toBe('{"a":1')
  })

  test('is lost if its connection is closed', async () => {
    const { api, sockets } = await stageSockets(() => undefined)
    const reply = api.call(query())
    await expect.poll(() => [...sockets].some((socket) => socket.bytesRead > 0)).toBe(true)
    await api.close()
    expect(await reply).toMatchObject({ kind: 'lost' })
  })
})

describe('a response', () => {
  test.each([
    ['', ['HTTP/1.1 100 Continue\r\n\r\n', whole]],
    [' in one piece with it', [`HTTP/1.1 100 Continue\r\nVia: a\r\n\r\n${whole}`]],
    [' twice and in pieces', ['HTTP/1.1 100 Con', 'tinue\r\n\r\nHTTP/1.1 100 OK\r\n\r\n', whole]],
  ])('is read after an unrequested 100 Continue%s', async (_, pieces) => {
    const { api } = await stageSockets((socket) => {
      socket.setNoDelay(true)
      socket.on('data', () => {
        void (async () => {
          for (const piece of pieces) {
            await new Promise((resolve) => socket.write(piece, resolve))
            await setImmediate()
          }
        })()
      })
    })
    for (const q of ['one', 'two']) {
      expect(await api.call(query(q))).toMatchObject({ kind: 'response', status: 200 })
    }
  })

  test('is read after 60 kB of headers', async () => {
    const { api } = await stageApi((_, response) => {
      response.writeHead(200, { 'x-trace': 'a'.repeat(60_000) })
      response.end('{"a":1}')
    })
    expect(await api.call(query())).toMatchObject({ kind: 'response', status: 200 })
  })

  test('follows early hints that announce it', async () => {
    const { api } = await stageSockets((socket) =>
      socket.on('data', () => {
        socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n')
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}')
      }),
    )
    const reply = await api.call(query())
    expect(reply).toMatchObject({ kind: 'response', status: 200 })
    expect(reply.kind === 'response' && reply.body.toString()).toBe('{"a":1}')
  })

  test('with a redirect is not followed, and the key is sent nowhere else', async () => {
    const other = await stageApi((_, response) => response.end('{}'))
    const { api } = await stageApi((_, response) =>
      response.writeHead(302, { location: other.url.href }).end(),
    )
    expect(await api.call(query())).toMatchObject({ kind: 'response', status: 302 })
    expect(other.requests).toHaveLength(0)
  })

  test('longer than the limit is truncated and marked', async () => {
    const { api } = await stageApi((_, response) => response.end(Buffer.alloc(bodyCap + 100, 32)))
    const reply = await api.call(query())
    expect(reply).toMatchObject({ kind: 'response', truncated: true })
    expect(reply.kind === 'response' && reply.body.length).toBe(bodyCap)
  })

  test('that was compressed unasked is read; one that expands without end is truncated', async () => {
    const bodies = [gzipSync('{"a":1}'), gzipSync(Buffer.alloc(bodyCap * 4))]
    const { api } = await stageApi((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bodies.shift()),
    )
    const small = await api.call(query())
    expect(small.kind === 'response' && small.body.toString()).toBe('{"a":1}')
    const bomb = await api.call(query())
    expect(bomb).toMatchObject({ kind: 'response', truncated: true })
    expect(bomb.kind === 'response' && bomb.body.length).toBe(bodyCap)
  })

  test('whose compressed data ends too early never counts as complete', async () => {
    const full = gzipSync(randomBytes(50_000).toString('hex'))
    const { api } = await stageApi((_, response) =>
      response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(full.subarray(0, full.length - 2000)),
    )
    const reply = await api.call(query())
    expect(reply).toMatchObject({ kind: 'response', truncated: true })
  })

  test('that is not compressed as declared is kept as received', async () => {
    const { api } = await stageApi((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('{"a":1}'),
    )
    const reply = await api.call(query())
    expect(reply).toMatchObject({ kind: 'response', truncated: false })
    expect(reply.kind === 'response' && reply.body.toString()).toBe('{"a":1}')
  })

  test.each(['identity', 'gzip'])(
    'that quotes the key is stored without it (%s)',
    async (encoding) => {
      const said = `{"message":"bad key ${key.reveal()}"}`
      const { api } = await stageApi((_, response) =>
        response
          .writeHead(403, { 'content-encoding': encoding })
          .end(encoding === 'gzip' ? gzipSync(said) : said),
      )
      const reply = await api.call(query())
      const text = reply.kind === 'response' ? reply.body.toString() : ''
      expect(JSON.parse(text)).toEqual({ message: `bad key ${'*'.repeat(key.reveal().length)}` })
    },
  )

  test('passes on Retry-After as received', async () => {
    const { api } = await stageApi((_, response) =>
      response.writeHead(429, { 'retry-after': '7' }).end(),
    )
    expect(await api.call(query())).toMatchObject({ status: 429, retryAfter: '7' })
  })
})

describe('sockets', () => {
  test('that the server closes silently lose a few calls at most, and never send one twice', async () => {
    let heard = 0
    const { api } = await stageSockets((socket) => {
      socket.on('data', () => {
        heard += 1
        socket.write(whole)
        setTimeout(() => socket.resetAndDestroy(), 5)
      })
    })
    const calls = 200
    let lost = 0
    for (let call = 0; call < calls; call += 1) {
      const reply = await api.call(query(`call ${call}`))
      if (reply.kind === 'lost') lost += 1
      await new Promise((resolve) => setTimeout(resolve, call % 10))
    }
    expect(lost).toBeLessThanOrEqual(4)
    expect(heard).toBeLessThanOrEqual(calls)
  })

  test('are at most as many as lanes, with one call at a time on each', async () => {
    const { api, sockets } = await stageSockets(
      (socket) => {
        let riding = 0
        socket.on('data', () => {
          riding += 1
          expect(riding).toBe(1)
          setTimeout(() => {
            riding -= 1
            socket.write(whole)
          }, 10)
        })
      },
      { lanes: 3 },
    )
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, call) => api.call(query(`call ${call}`))),
    )
    expect(replies.every(({ kind }) => kind === 'response')).toBe(true)
    expect(sockets.size).toBeLessThanOrEqual(3)
  })

  test('that were idle for more than a second are not used again', async () => {
    const { api, sockets } = await stageSockets((socket) =>
      socket.on('data', () => socket.write(whole)),
    )
    await api.call(query())
    const [first] = sockets
    if (first !== undefined && !first.closed) await once(first, 'close')
    await api.call(query())
    expect(sockets.size).toBe(2)
  })
})

test.each([
  ['past its deadline', 0],
  ['past its deadline, and once more before it could read', 700],
])(
  'an answer that arrived while the process was frozen %s is read, not discarded',
  async (_, again) => {
    const server = new Worker(
      `const { createServer } = require('node:http')
     const { parentPort } = require('node:worker_threads')
     const server = createServer((_, response) => {
       parentPort.postMessage('asked')
       setTimeout(() => response.end('x'.repeat(400_000)), 100)
     })
     server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`,
      { eval: true },
    )
    onTestFinished(() => void server.terminate())
    const [port] = (await once(server, 'message')) as [number]
    const api = open(new URL(`http://127.0.0.1:${port}`), { timeoutMs: 400 })
    const asked = once(server, 'message')
    const reply = api.call(query())
    await asked
    // As a stopped process behaves, while its clocks continue.
    const standStill = (ms: number) =>
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    standStill(900)
    setTimeout(() => standStill(again), 1)
    expect(await reply).toMatchObject({ kind: 'response', status: 200, truncated: false })
  },
)
