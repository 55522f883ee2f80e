// @module-tag slow
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTables, type Tables } from '../../src/service/database.ts'
import { sweep } from '../../src/service/start.ts'
import { quietLog } from '../../src/base/log.ts'
import { dayMs } from '../../src/base/time/zone.ts'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
let tables: Tables

beforeAll(async () => {
  shop = await openShop({ upstream: 'local' })
  tables = await openTables(shop.databaseUrl, 2)
})
afterAll(async () => {
  await tables.close()
  await shop.service.close()
})

async function read<Row extends object>(text: string): Promise<Row | undefined> {
  return (await tables.pool.query<Row>(text)).rows[0]
}

describe('stored queries', () => {
  test('are kept for the configured time, and then only their cost', async () => {
    const { key, id } = await shop.service.keys.create({ kind: 'live', credits: 1000 })
    for (const num of [1, 25]) await shop.ask(`/v1/search?q=old+secret&num=${num}`, key)
    await shop.ask('/v1/search?q=young+css', key)
    await tables.pool.query(
      "update usage set at = at - interval '100 days' where q = 'old secret' and key_id = $1",
      [id],
    )
    const mine = async () => (await shop.service.keys.usage()).filter((day) => day.key_id === id)
    const before = await mine()
    expect(before).toHaveLength(2)
    await sweep(tables.pool, quietLog(), 90 * dayMs)
    expect(await mine()).toEqual(before)
    const left = `select array_agg(q) as asked from usage where key_id = ${id} and q <> ''`
    expect(await read(left)).toEqual({ asked: ['young css'] })
  })

  test('of half a year are not read by a search, nor all of them by a usage request', async () => {
    const { key, id, account } = await shop.service.keys.create({ kind: 'live', plan: 'pro' })
    await shop.ask('/v1/search?q=css+grid', key)
    await tables.pool.query(
      `insert into usage (key_id, account_id, at, period, q, num, reserved, credits, status)
      select ${id}, ${account}, now() - n * interval '50 seconds', date_trunc('month', now()), 'css grid ' || n, 10, 1, 1, 200
      from generate_series(1, 300000) as n`,
    )
    await tables.pool.query('analyze usage')
    const rows = "select seq_tup_read as n from pg_stat_user_tables where relname = 'usage'"
    const before = (await read<{ n: number }>(rows))?.n ?? 0
    for (let times = 0; times < 5; times += 1) await shop.ask('/v1/search?q=css+grid', key)
    // The server counts the rows that a connection read at the latest when the connection is closed.
    await shop.service.close()
    expect(((await read<{ n: number }>(rows))?.n ?? 0) - before).toBeLessThan(50_000)
    shop = await openShop({ upstream: 'local', databaseUrl: shop.databaseUrl })
    const { json } = await shop.ask('/v1/usage?days=2', key)
    expect(json).toHaveProperty('days.length', 2)
  })
})

describe('a key to be revoked', () => {
  test('is named by its number, so that it never appears on a command line', async () => {
    const { key, id } = await shop.service.keys.create({ kind: 'test' })
    expect(await shop.service.keys.revoke(String(id))).toBe(true)
    expect((await shop.ask('/v1/search?q=a', key)).status).toBe(403)
    expect(await shop.service.keys.revoke('999999')).toBe(false)
  })

  test('is refused while its search is in progress elsewhere, and that search is still charged once', async () => {
    const { key, id, account } = await shop.service.keys.create({ kind: 'live', credits: 10 })
    const search = shop.ask('/v1/search?q=css', key)
    await shop.service.keys.revoke(String(id))
    const { status } = await search
    expect([200, 403]).toContain(status)
    expect((await shop.ask('/v1/search?q=css', key)).status).toBe(403)
    expect(await read(`select used, held from accounts where id = ${account}`)).toEqual({
      used: status === 200 ? 1 : 0,
      held: 0,
    })
  })
})

describe('a further key of an account', () => {
  test('is issued with the balance of this month', async () => {
    const { account } = await shop.service.keys.create({ kind: 'live', plan: 'free' })
    await tables.pool.query(
      "update accounts set used = quota, period = period - interval '1 month' where id = $1",
      [account],
    )
    expect(await shop.service.keys.create({ kind: 'live', account })).toMatchObject({
      credits: 1000,
    })
  })
})
