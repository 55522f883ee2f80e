import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { post } from '../../../src/commands/monitor/webhook.ts'

const notice = { kind: 'stop', subject: 's', text: 'one line', fields: { account: 'a' } }

interface Received {
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly text: string
}

let server: Server
let received: Received[]

beforeEach(async () => {
  received = []
  server = createServer((request, response) => {
    const { url: path, headers } = request
    let text = ''
    request.on('data', (chunk) => (text += String(chunk)))
    request.on('end', () => {
      received.push({ path, authorization: headers.authorization, text })
      if (path === '/moved') response.writeHead(307, { location: '/elsewhere' })
      response.end('thanks')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterEach(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})

function address(path: string, login = ''): URL {
  return new URL(`http://${login}127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
}

describe('a webhook', () => {
  test('gets a notice as JSON: its text, its kind and its fields', async () => {
    await post(address('/hook'), notice)
    expect(received.map(({ text }) => JSON.parse(text))).toEqual([
      { text: 'one line', event: 'stop', account: 'a' },
    ])
  })

  test('that redirects is not followed, and tried again', async () => {
    await expect(post(address('/moved'), notice, [1])).rejects.toThrow(/got status 307$/)
    expect(received.map(({ path }) => path)).toEqual(['/moved', '/moved'])
  })

  test('with a name and password in its address gets them in a header', async () => {
    await post(address('/hook', 'ada:se%40cret@'), notice)
    const login = Buffer.from('ada:se@cret').toString('base64')
    expect(received).toMatchObject([{ path: '/hook', authorization: `Basic ${login}` }])
  })

  test('that is out of reach is named by the code of the error, never by its address', async () => {
    const url = address('/secret-path', 'ada:secret@')
    await new Promise((resolve) => server.close(resolve))
    await expect(post(url, notice, [])).rejects.toThrow(
      /^expected the webhook to answer, got ECONNREFUSED$/,
    )
  })
})
