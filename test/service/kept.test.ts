// @module-tag slow
import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTables, type Tables } from '../../src/service/database.ts'
import { claimAnswer } from '../../src/service/sell.ts'
import { readSearch } from '../../src/service/schemas.ts'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
let tables: Tables

beforeAll(async () => {
  shop = await openShop()
  tables = await openTables(shop.databaseUrl, 2)
})
afterAll(async () => {
  await tables.close()
  await shop.service.close()
})

const tea = '/v1/search?q=tea&num=30'

function again(key: string) {
  return { headers: { 'idempotency-key': key } }
}

async function left(key: string): Promise<unknown> {
  return (await shop.ask('/v1/usage', key)).headers['x-credits-remaining']
}

describe('a search with an Idempotency-Key', () => {
  test('is answered the same and charged once, however often it is sent', async () => {
    const key = await shop.live(100)
    const first = await shop.ask(tea, key, again('one'))
    const second = await shop.ask(tea, key, again('one'))
    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.body).toEqual(first.body)
    expect(first.headers['x-idempotency-window']).toBe('86400')
    expect(first.headers['x-idempotency-replayed']).toBeUndefined()
    expect(second.headers).toMatchObject({
      'x-idempotency-replayed': 'true',
      'x-credits-used': '3',
    })
    expect(await left(key)).toBe('97')
  })

  test('is the same request if it names the defaults', async () => {
    const key = await shop.live(100)
    const first = await shop.ask('/v1/search?q=tea', key, again('defaults'))
    const defaults = 'num=10&hl=en&device=desktop'
    const second = await shop.ask(`/v1/search?q=tea&${defaults}`, key, again('defaults'))
    expect(second.status).toBe(200)
    expect(second.body).toEqual(first.body)
    expect(second.headers['x-idempotency-replayed']).toBe('true')
    expect((await shop.ask('/v1/search?q=tea&hl=fr', key, again('defaults'))).status).toBe(422)
    expect(await left(key)).toBe('99')
  })

  test('is charged once if twenty arrive at the same time at two processes', async () => {
    const key = await shop.live(100)
    const other = await openShop({ databaseUrl: shop.databaseUrl })
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? shop : other).ask(tea, key, again('race')),
      ),
    )
    await other.service.close()
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(replies.map(({ body }) => String(body))).size).toBe(1)
    expect(await left(key)).toBe('97')
  })

  test('is given the same answer after a restart', async () => {
    const lone = await openShop()
    const key = await lone.live(100)
    const before = await lone.ask(tea, key, again('restart'))
    await lone.service.close()
    const next = await openShop({ databaseUrl: lone.databaseUrl })
    const after = await next.ask(tea, key, again('restart'))
    expect(after.body).toEqual(before.body)
    expect(after.headers['x-idempotency-replayed']).toBe('true')
    await next.service.close()
  })

  test('whose first request died with its process is searched again once that is certain', async () => {
    const lone = await openShop({ leaseMs: 300 })
    const key = await lone.live(100)
    const own = await openTables(lone.databaseUrl, 1)
    const found = await lone.service.keys.find(key)
    if (found === null) throw new Error('expected the key to be found')
    const search = readSearch({ q: 'tea', num: 30 })
    const { signal: gone } = new AbortController()
    const order = { key: found, search, gone, deadline: 0, idempotencyKey: 'dead' }
    const claim = await claimAnswer(own.pool, order, 300)
    expect(claim).toBeTypeOf('string')
    const { status, json } = await lone.ask(tea, key, again('dead'))
    expect([status, json.credits_remaining]).toEqual([200, 97])
    await own.close()
    await lone.service.close()
  })

  test('that was refused costs nothing and may be repeated with the same key', async () => {
    const key = await shop.live(2)
    expect((await shop.ask(tea, key, again('poor'))).status).toBe(402)
    const cheaper = await shop.ask('/v1/search?q=tea&num=10', key, again('poor'))
    expect([cheaper.status, cheaper.json.credits_remaining]).toEqual([200, 1])
  })

  test('for a different request is a 422 and costs nothing', async () => {
    const key = await shop.live(100)
    await shop.ask(tea, key, again('mine'))
    const { status, json } = await shop.ask('/v1/search?q=coffee', key, again('mine'))
    expect([status, json.error?.code]).toEqual([422, 'UNPROCESSABLE_CONTENT'])
    expect(await left(key)).toBe('97')
  })

  test('whose key is empty, too long or not plain text is a 400', async () => {
    const key = await shop.live(100)
    for (const bad of ['a b', 'x'.repeat(256), 'é']) {
      expect([bad, (await shop.ask(tea, key, again(bad))).status]).toEqual([bad, 400])
    }
  })

  test('is separate for each account: another account with the same key has its own answer', async () => {
    const [one, two] = [await shop.live(100), await shop.live(50)]
    expect((await shop.ask(tea, one, again('same'))).json.credits_remaining).toBe(97)
    expect((await shop.ask(tea, two, again('same'))).json.credits_remaining).toBe(47)
  })

  test('is forgotten after a day', async () => {
    const key = await shop.live(100)
    await shop.ask(tea, key, again('old'))
    await tables.pool.query("update kept_answers set claimed_at = now() - interval '25 hours'")
    const next = await shop.ask(tea, key, again('old'))
    expect(next.headers['x-idempotency-replayed']).toBeUndefined()
    expect(next.json.credits_remaining).toBe(94)
  })

  test('that an earlier version stored still gets its answer', async () => {
    const { key, account } = await shop.service.keys.create({ kind: 'live', credits: 10 })
    const before = { q: 'tea', num: 10, hl: null, gl: null, location: null, device: null }
    const asked = hash('sha256', JSON.stringify(before), 'buffer')
    const answer = { intent: 'kept', sentiment: '', clusters: [], entities: [] }
    const lists = { organic_results: [], related_searches: [] }
    const kept = { answer: { ...answer, ...lists }, ignored: [], partial: false }
    await tables.pool.query(
      `insert into kept_answers (account_id, key, asked, claim, answer, used, remaining)
      values ($1, 'old', $2, gen_random_uuid(), $3, 1, 9)`,
      [account, asked, JSON.stringify(kept)],
    )
    const { status, json } = await shop.ask('/v1/search?q=tea', key, again('old'))
    expect([status, json.intent]).toEqual([200, 'kept'])
    const second = await shop.ask('/v1/search?q=tea&num=20', key, again('old'))
    expect(second.status).toBe(422)
  })
})
