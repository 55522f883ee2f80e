import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { Secret } from '../../../src/base/secret.ts'
import { bodyOf, headersOf, post } from '../../../src/features/notifications/webhook.ts'
import { openReceiver, type Receiver } from './receiver.ts'

const notice = {
  id: '0b8f2a52-5a5b-4c11-9a3e-6f1b7c0f8e11',
  kind: 'stop',
  text: 'one line',
  at: '2026-10-03T02:00:00Z',
  fields: { account: 'a' },
}
const secret = 'a-secret-for-tests-only-of-40-characters'

let receiver: Receiver

beforeEach(async () => {
  receiver = await openReceiver('/hook')
})

afterEach(() => receiver.close().catch(() => undefined))

type IsOurs = (headers: unknown, body: string, secret: string) => boolean

/** The JavaScript code that docs/operations.md recommends to receivers. */
async function documentedCheck(): Promise<IsOurs> {
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8')
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'querymill-docs-'))
  const file = join(folder, 'check.mjs')
  writeFileSync(file, `${code}\nexport { isOurs }\n`)
  const { isOurs } = await import(/* @vite-ignore */ file)
  rmSync(folder, { recursive: true })
  return isOurs
}

describe('a webhook', () => {
  test('gets a notice as JSON: text, kind, id and fields', async () => {
    expect(await post(receiver.webhook(), notice)).toMatchObject({ ok: true, said: 'thanks' })
    expect(receiver.bodies()).toEqual([
      {
        text: 'one line',
        event: 'stop',
        id: notice.id,
        account: 'a',
        noted_at: '2026-10-03T02:00:00Z',
      },
    ])
    expect(receiver.got[0]?.headers).toMatchObject({ 'webhook-id': notice.id })
  })

  test('with a secret can verify the sender, the time and the content of a notice with the documented code', async () => {
    await post(receiver.webhook({ secret: new Secret(secret) }), notice)
    const [got] = receiver.got
    if (got === undefined) throw new Error('expected a notice')
    const isOurs = await documentedCheck()
    expect(isOurs(got.headers, got.text, secret)).toBe(true)
    expect(isOurs(got.headers, got.text, 'another-secret-of-somebody-else')).toBe(false)
    expect(isOurs(got.headers, got.text.replace('stop', 'halt'), secret)).toBe(false)
    const old = headersOf({ id: notice.id, body: got.text }, new Secret(secret), 1_600_000_000)
    expect(isOurs(old, got.text, secret)).toBe(false)
  })

  test('without a secret gets no signature', async () => {
    await post(receiver.webhook(), notice)
    expect(receiver.got[0]?.headers).not.toHaveProperty('webhook-signature')
  })

  test('with a prefixed secret is signed like the published example of standardwebhooks.com', () => {
    const known = new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
    const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
    expect(headersOf(signed, known, 1614265330)).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  test('of Slack gets only the line, without mentions or links', () => {
    const text = 'querymill: list <!channel> & <https://x.example|here> *bold*'
    expect(JSON.parse(bodyOf({ ...notice, text }, 'slack'))).toEqual({
      text: 'querymill: list &lt;!channel&gt; &amp; &lt;https://x.example|here&gt; *bold*',
      mrkdwn: false,
    })
  })

  test('that redirects is not followed', async () => {
    receiver.statuses = [307]
    receiver.headers = { location: '/elsewhere' }
    expect(await post(receiver.webhook(), notice)).toMatchObject({ ok: false, status: 307 })
    expect(receiver.got.map(({ path }) => path)).toEqual(['/hook'])
  })

  test('with a requested wait is respected, in seconds, as a date, and for an hour at most', async () => {
    const waits: (number | null)[] = []
    const date = new Date(Date.now() + 600_000).toUTCString()
    const before = Date.now()
    for (const asked of ['7', date, '999999', 'soon']) {
      receiver.statuses = [429]
      receiver.headers = { 'retry-after': asked }
      waits.push((await post(receiver.webhook(), notice)).waitMs)
    }
    expect(waits[0]).toBe(7000)
    expect(waits[1]).toBeLessThanOrEqual(Date.parse(date) - before)
    expect(waits[1]).toBeGreaterThanOrEqual(Date.parse(date) - Date.now())
    expect(waits.slice(2)).toEqual([3_600_000, null])
  })

  test('with a name and password in its address gets them in a header', async () => {
    const url = new URL(receiver.url)
    url.username = 'ada'
    url.password = 'se@cret'
    await post(receiver.webhook({ url }), notice)
    const login = Buffer.from('ada:se@cret').toString('base64')
    expect(receiver.got).toMatchObject([
      { path: '/hook', headers: { authorization: `Basic ${login}` } },
    ])
  })

  test('that is unreachable is reported by the error code, never by its address', async () => {
    const url = new URL('/secret-path', receiver.url)
    await receiver.close()
    await expect(post(receiver.webhook({ url }), notice)).rejects.toThrow(
      /^expected the webhook to respond, got ECONNREFUSED$/,
    )
  })

  test('on a port that web requests must not use is reported by the port', async () => {
    const url = new URL('http://127.0.0.1:6000/secret-path')
    await expect(post({ url, secret: null, format: 'json' }, notice)).rejects.toThrow(
      /^expected the webhook to respond, got port 6000, which web requests must not use$/,
    )
  })
})
