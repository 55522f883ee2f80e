import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTables } from '../../src/service/database.ts'
import { root } from '../../src/base/root.ts'
import { Keys } from '../../src/service/keys.ts'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
let live: string
let mock: string

beforeAll(async () => {
  shop = await openShop()
  live = await shop.live()
  mock = await shop.test()
})
afterAll(() => shop.service.close())

const tea = '/v1/search?q=tea'

async function query(text: string): Promise<Record<string, unknown>[]> {
  const { pool } = await openTables(shop.databaseUrl, 1)
  try {
    return (await pool.query<Record<string, unknown>>(text)).rows
  } finally {
    await pool.end()
  }
}

describe('keys and how they are sent (section 5)', () => {
  test('41: a request without a key is a 401, whatever else is wrong with it', async () => {
    for (const bad of [tea, '/v1/search', '/v1/search?num=0', '/v1/search?q=a&api_key=']) {
      expect((await shop.ask(bad)).status).toBe(401)
    }
    expect((await shop.ask(tea)).headers['www-authenticate']).toBe('Bearer')
  })

  test('a key is accepted while another transaction changes its row', async () => {
    const { key, id } = await shop.service.keys.create({ kind: 'test' })
    const { pool } = await openTables(shop.databaseUrl, 1)
    const other = await pool.connect()
    try {
      await other.query('begin')
      await other.query('select from keys where id = $1 for no key update', [id])
      expect((await shop.ask(tea, key)).status).toBe(200)
    } finally {
      other.release(true)
      await pool.end()
    }
  })

  test('42: a live key counts against its plan', async () => {
    const { key, account } = await shop.service.keys.create({ kind: 'live', plan: 'free' })
    expect((await shop.ask(`${tea}&num=100`, key)).json.credits_remaining).toBe(990)
    expect(await query(`select used from accounts where id = ${account}`)).toEqual([{ used: 10 }])
  })

  test('43: a test key gets mock data, the same each time', async () => {
    const answers = [await shop.ask(tea, mock), await shop.ask(tea, mock)].map(({ json }) => json)
    expect(answers[0]).toEqual(answers[1])
    const domains = answers[0]?.organic_results?.map(({ domain }) => domain) ?? []
    expect(domains).toHaveLength(10)
    expect(domains.filter((domain) => !/(^|\.)example\./.test(domain))).toEqual([])
  })

  test('44: a test request leaves balance and usage as they were, and costs 0', async () => {
    const key = await shop.test(77)
    const before = await shop.service.keys.usage()
    for (let times = 0; times < 3; times += 1) {
      const { json } = await shop.ask(`${tea}&num=100`, key)
      expect([json.credits_used, json.credits_remaining]).toEqual([0, 77])
    }
    expect(await shop.service.keys.usage()).toEqual(before)
  })

  test('45: a key is its prefix and a secret, never issued twice and never stored', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => shop.live(1)))
    expect(keys.filter((key) => !/^sk_live_[0-9A-Za-z]{38}$/.test(key))).toEqual([])
    expect(await shop.test()).toMatch(/^sk_test_/)
    expect(new Set(keys).size).toBe(20)
    const stored = JSON.stringify(await query('select keys.*, encode(hash, $$escape$$) from keys'))
    expect(keys.filter((key) => stored.includes(key.slice(8, 40)))).toEqual([])
  })

  test('46: a key is shown when it is issued and by nothing afterwards', async () => {
    const issued = await shop.service.keys.create({ kind: 'live', credits: 3, name: 'garden' })
    expect(issued).toMatchObject({ kind: 'live', credits: 3 })
    const listed = (await shop.service.keys.list()).find(({ id }) => id === issued.id)
    expect(listed).toMatchObject({ key: `sk_live_…${issued.key.slice(-4)}`, name: 'garden' })
  })

  test('47: the key in a Bearer header is accepted, in any case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
      const headers = { authorization: `${scheme} ${mock}` }
      expect((await shop.ask(tea, null, { headers })).status).toBe(200)
    }
  })

  test('48: the key in the parameter api_key is accepted', async () => {
    expect((await shop.ask(`${tea}&api_key=${mock}`)).status).toBe(200)
  })

  test('49: if both are sent, the header counts, whether its key is valid or not', async () => {
    const wrong = 'sk_live_wrong'
    expect((await shop.ask(`${tea}&api_key=${wrong}`, mock)).status).toBe(200)
    expect((await shop.ask(`${tea}&api_key=${mock}`, wrong)).status).toBe(403)
    const basic = { authorization: 'Basic abc' }
    expect((await shop.ask(`${tea}&api_key=${mock}`, null, { headers: basic })).status).toBe(200)
    const blank = { authorization: 'Bearer ' }
    expect((await shop.ask(`${tea}&api_key=${mock}`, null, { headers: blank })).status).toBe(401)
    expect((await shop.ask(`${tea}&api_key=${mock}&api_key=${mock}`)).status).toBe(401)
  })

  test('50: the body of a 401 is exactly the one of the specification', async () => {
    const { status, json } = await shop.ask(tea)
    expect(status).toBe(401)
    expect(json).toEqual({
      success: false,
      error: {
        code: 'UNAUTHORIZED',
        message: 'Invalid or missing API key',
        documentation: `${shop.service.url}/docs/authentication`,
      },
    })
  })

  test('51: the body of a 403 is exactly the one of the specification, for unknown and for revoked', async () => {
    const revoked = await shop.live()
    await shop.service.keys.revoke(revoked)
    const mistyped = `${live.slice(0, -1)}${live.endsWith('0') ? '1' : '0'}`
    for (const key of ['sk_live_unknown', 'anything', mistyped, revoked]) {
      const { status, json } = await shop.ask(tea, key)
      expect(status).toBe(403)
      expect(json.error).toEqual({
        code: 'FORBIDDEN',
        message: 'API key is invalid or has been revoked',
        documentation: `${shop.service.url}/docs/authentication`,
      })
    }
  })

  test('52: both documentation links end in /authentication', async () => {
    for (const key of [null, 'sk_live_unknown']) {
      expect((await shop.ask(tea, key)).json.error?.documentation).toMatch(/\/authentication$/)
    }
  })

  test('53: no file of the program holds a key', () => {
    const folders = ['src', 'jobs', 'sql', 'inputs']
    const files = folders.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true }),
    )
    const leaky = files.filter(
      (file) =>
        file.isFile() &&
        /sk_(live|test)_[0-9A-Za-z]{38}/.test(
          readFileSync(join(file.parentPath, file.name), 'latin1'),
        ),
    )
    expect(leaky.map(({ name }) => name)).toEqual([])
  })

  test('54: a key is replaced without a gap: both are valid until the old one is revoked', async () => {
    const old = await shop.service.keys.create({ kind: 'live', credits: 10 })
    const next = await shop.service.keys.create({ kind: 'live', account: old.account })
    expect((await shop.ask(tea, old.key)).json.credits_remaining).toBe(9)
    expect((await shop.ask(tea, next.key)).json.credits_remaining).toBe(8)
    await shop.service.keys.revoke(String(old.id))
    expect((await shop.ask(tea, old.key)).status).toBe(403)
    expect((await shop.ask(tea, next.key)).json.credits_remaining).toBe(7)
  })

  test('55: usage is stored by key and day, and its sum matches the answers', async () => {
    const { key, id } = await shop.service.keys.create({ kind: 'live', credits: 100 })
    let used = 0
    for (const num of [1, 10, 11, 95]) {
      used += (await shop.ask(`${tea}&num=${num}`, key)).json.credits_used ?? 0
    }
    const days = (await shop.service.keys.usage()).filter(({ key_id }) => key_id === id)
    expect(days.map(({ requests, credits }) => [requests, credits])).toEqual([[4, used]])
    expect(days[0]?.day).toBe(new Date().toISOString().slice(0, 10))
  })
})

describe('events, errors, limits and versions (sections 6 to 9)', () => {
  test('56: no module of an offline service can send requests', () => {
    const folder = join(root, 'src', 'service')
    const callers = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .filter((name) =>
        /(?<![.-])\bfetch\b|from 'undici'|http\.request/.test(code(join(folder, name))),
      )
    expect(callers).toEqual(['upstream/searxng.ts'])
  })

  test('57: without credits the response is exactly a 402, for any number of concurrent requests', async () => {
    const key = await shop.live(20)
    const replies = await Promise.all(Array.from({ length: 60 }, () => shop.ask(tea, key)))
    const good = replies.filter(({ status }) => status === 200)
    const spent = replies.filter(({ status }) => status === 402)
    expect([good.length, spent.length]).toEqual([20, 40])
    expect(Math.min(...good.map(({ json }) => json.credits_remaining ?? -1))).toBe(0)
    expect(spent[0]?.json.error?.code).toBe('PAYMENT_REQUIRED')
    expect(spent[0]?.headers['x-credits-remaining']).toBe('0')
  })

  test('58: more requests a second than allowed are a 429 with the time to wait', async () => {
    const { key } = await shop.service.keys.create({ kind: 'live', credits: 1000, rate: 3 })
    const replies = await Promise.all(Array.from({ length: 20 }, () => shop.ask(tea, key)))
    const slow = replies.filter(({ status }) => status === 429)
    expect(slow.length).toBeGreaterThan(0)
    expect(slow[0]?.headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-limit': '3' })
    const paid = replies.length - slow.length
    expect((await shop.service.keys.list()).at(-1)?.credits).toBe(1000 - paid)
  })

  test('59: ten results cost one credit, at least one and at most ten, and the balance falls by this amount', async () => {
    const key = await shop.live(100)
    let left = 100
    for (const [num, price] of [
      [1, 1],
      [10, 1],
      [11, 2],
      [100, 10],
    ] as const) {
      const { json } = await shop.ask(`${tea}&num=${num}`, key)
      left -= price
      expect([json.credits_used, json.credits_remaining]).toEqual([price, left])
    }
  })

  test('60: the version is in the path: another one is a 404 in the error format', async () => {
    const { status, json } = await shop.ask('/v2/search?q=a', live)
    expect([status, json.success, json.error?.code]).toEqual([404, false, 'NOT_FOUND'])
  })
})

describe('keys and plans', () => {
  test('of a renewing plan get their credits in a new month, with the first request', async () => {
    const { key, account } = await shop.service.keys.create({ kind: 'live', plan: 'free' })
    await query(
      `update accounts set used = 1000, period = period - interval '1 month' where id = ${account} returning 1`,
    )
    expect((await shop.ask(tea, key)).json.credits_remaining).toBe(999)
  })

  test('of a used-up renewing plan get the seconds until it renews', async () => {
    const { key, account } = await shop.service.keys.create({ kind: 'live', plan: 'free' })
    await query(`update accounts set used = quota where id = ${account} returning 1`)
    const { status, headers } = await shop.ask(tea, key)
    expect(status).toBe(402)
    expect(Number(headers['x-credits-reset'])).toBeGreaterThan(0)
    expect(Number(headers['x-credits-reset'])).toBeLessThanOrEqual(31 * 86_400)
  })

  test('release credits that a dead process had reserved at the next start', async () => {
    const { key, id, account } = await shop.service.keys.create({ kind: 'live', credits: 10 })
    await shop.ask(tea, key)
    await query(
      `with taken as (update accounts set held = held + 4 where id = ${account})
      insert into usage (key_id, account_id, at, period, q, num, reserved)
      select ${id}, ${account}, now() - interval '1 hour', period, 'lost', 40, 4 from accounts where id = ${account} returning 1`,
    )
    const next = await openShop({ databaseUrl: shop.databaseUrl })
    await next.service.close()
    expect((await shop.service.keys.list()).find((one) => one.id === id)?.credits).toBe(9)
    // An hour ago may have been yesterday.
    const days = (await shop.service.keys.usage()).filter((one) => one.key_id === id)
    const sum = (of: (day: (typeof days)[number]) => number) =>
      days.reduce((all, day) => all + of(day), 0)
    expect({
      requests: sum(({ requests }) => requests),
      failures: sum(({ failures }) => failures),
      credits: sum(({ credits }) => credits),
    }).toEqual({ requests: 2, failures: 1, credits: 1 })
  })

  test('are issued without a running service, and are valid in a running one', async () => {
    const tables = await openTables(shop.databaseUrl, 1)
    const desk = new Keys(tables.pool)
    const { key } = await desk.create({ kind: 'test', credits: 5 })
    expect((await shop.ask(tea, key)).json.credits_remaining).toBe(5)
    await desk.revoke(key)
    await tables.close()
    expect((await shop.ask(tea, key)).status).toBe(403)
  })

  test('are refused for an unknown plan, account or key, with the valid ones', async () => {
    const { keys } = shop.service
    await expect(keys.create({ kind: 'live', plan: 'gold' })).rejects.toThrow(
      'free, pro, unlimited',
    )
    await expect(keys.create({ kind: 'live', account: 999_999 })).rejects.toThrow('keys -- list')
    expect(await keys.revoke('sk_live_nobody')).toBe(false)
  })
})

function code(path: string): string {
  return readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
}
