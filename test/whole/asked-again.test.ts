// @module-tag slow
import { connect, createServer, type AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openShop } from '../service/shop.ts'
import { testMill, type TestMill } from '../support/mill.ts'
import { openScene, queries, type SceneOptions } from '../support/scene.ts'
import { dies, startMortal } from './dying.ts'

// An answer that was lost in transit is requested again with the same key, if the API charges that only once.

const fast = { MILL_TIMEOUT_MS: '1500', MILL_LEASE_MS: '4000', MILL_CONCURRENCY: '6' }

/** Two replies in five are lost after the charge, one of them together with the whole connection. */
const lossy = [
  { kind: 'drop', chance: 0.2 },
  { kind: 'cut', how: 'length', chance: 0.1 },
  { kind: 'status', status: 502, charged: true, body: 'html', chance: 0.1 },
] as const

function openLossy({ api, settings }: SceneOptions = {}) {
  return openScene({
    api: { replays: true, faults: [...lossy], ...api },
    settings: { ...fast, ...settings },
  })
}

interface Books {
  readonly unread: number
  readonly again: number
  readonly held: number
  readonly used: number
  readonly replay_ms: number | null
}

async function booksOf(mill: TestMill): Promise<Books | undefined> {
  const { rows } = await sql<Books>`
    select
      (
        select count(*)::integer from calls where outcome is null or outcome = 'unknown'
      ) as unread,
      (select count(*)::integer from calls where asked_again > 0) as again,
      a.reserved + a.uncertain as held,
      a.used_total as used,
      a.replay_ms
    from accounts a`.execute(mill.db)
  return rows[0]
}

/** Queries by the number of times that the API charged them. */
function chargedTimes(charges: readonly { readonly q: string; readonly charged: number }[]) {
  const times = new Map<string, number>()
  for (const { q, charged } of charges) {
    if (charged > 0) times.set(q, (times.get(q) ?? 0) + 1)
  }
  return [...new Set(times.values())].toSorted((a, b) => a - b)
}

describe('an API with idempotency keys', () => {
  test('is queried again for lost answers: each query is charged once, and no call stays unread', async () => {
    const { api, mill } = await openLossy()
    await mill.plan(queries(60))
    await mill.drain()
    expect(await mill.states()).toEqual({ answered: 60 })
    expect(chargedTimes(api.charges())).toEqual([1])
    const books = await booksOf(mill)
    expect(books).toMatchObject({ unread: 0, held: 0, replay_ms: 86_400_000 })
    expect(books?.again).toBeGreaterThan(8)
    expect(books?.used).toBe(10_000 - api.balance())
  })

  test('answers what is never bought again: with hold, nothing stays unknown', async () => {
    const { api, mill } = await openLossy({ settings: { MILL_UNKNOWN: 'hold' } })
    await mill.plan(queries(30))
    await mill.drain()
    expect(await mill.states()).toEqual({ answered: 30 })
    expect(chargedTimes(api.charges())).toEqual([1])
  })

  test('is queried again by the next worker for the calls of a killed one', async () => {
    const { api, mill } = await openLossy({ api: { faults: [] } })
    await mill.plan(queries(10))
    await mill.drain()
    await mill.plan(queries(40).slice(10))
    await dies(startMortal(mill, 'replied'))
    expect((await booksOf(mill))?.unread).toBeGreaterThan(0)
    await mill.drain()
    expect(await mill.states()).toEqual({ answered: 40 })
    expect(chargedTimes(api.charges())).toEqual([1])
    expect(await booksOf(mill)).toMatchObject({ unread: 0, held: 0 })
  })

  test('returns the body of the repeated request, which replaces the lost one', async () => {
    const { mill } = await openLossy({
      api: { faults: [{ kind: 'status', status: 502, charged: true, body: 'html', times: 1 }] },
    })
    await mill.plan(queries(5))
    await mill.drain()
    const { rows } = await sql<{ status: number; good: boolean }>`
      select r.status, convert_from(r.body, 'UTF8') like '{"success":true%' as good
      from searches s join raw_answers r on r.call_id = s.id`.execute(mill.db)
    expect(rows).toEqual(queries(5).map(() => ({ status: 200, good: true })))
  })

  test('is not queried again after eight losses in a row: the query is bought again', async () => {
    const { mill } = await openLossy({ api: { faults: [] } })
    await mill.plan(queries(3))
    await mill.drain()
    await mill.plan(['lost for good'], { list: 'other' })
    await sql`
      with made as (
        insert into calls (
          task_id, query_id, account_id, worker, mark, sent_at, finished_at, unknown_at, start_seq,
          start_total, credits_reserved, outcome, class, asked_again, asked_again_at
        )
        select
          t.id, t.query_id, 1, 1, gen_random_uuid(), now(), now(), now(), 100, 3, 1, 'unknown',
          '10/-', 8, now() - interval '2 minutes'
        from tasks t
        where t.state = 'open'
        returning credits_reserved
      )
      update accounts set uncertain = uncertain + credits_reserved, seq = 100 from made`.execute(
      mill.db,
    )
    await mill.drain()
    expect(await mill.states()).toEqual({ answered: 4 })
    const { rows } = await sql<{ calls: number }>`
      select count(*)::integer as calls from calls where task_id = (select max(id) from tasks)`.execute(
      mill.db,
    )
    expect(rows).toEqual([{ calls: 2 }])
  })
})

test('repeated requests respect the rate of the account, together with all other calls', async () => {
  const { api, mill } = await openLossy({
    api: { faults: [{ kind: 'drop', chance: 0.5 }] },
    settings: { MILL_RATE_LIMIT: '5' },
  })
  await mill.plan(queries(20))
  await mill.drain()
  expect(await mill.states()).toEqual({ answered: 20 })
  expect((await booksOf(mill))?.again).toBeGreaterThan(5)
  const starts = api.charges().map(({ at }) => at)
  const inSecond = starts.map((from) => starts.filter((at) => at >= from && at < from + 1_000))
  // One more may fall into a window that begins and ends with a request, and another because of the network.
  expect(Math.max(...inSecond.map(({ length }) => length))).toBeLessThanOrEqual(7)
})

test('an API that announces no idempotency keys is never queried again for the same call', async () => {
  const { mill } = await openLossy({ api: { replays: false } })
  await mill.plan(queries(40))
  await mill.drain()
  expect(await booksOf(mill)).toMatchObject({ again: 0, replay_ms: null })
  const { rows } = await sql<{ twice: number }>`
    select count(*)::integer as twice from tasks where ambiguous > 0`.execute(mill.db)
  expect(rows[0]?.twice).toBeGreaterThan(0)
})

/** A connection to the service that breaks every third time once the answer is in transit. */
async function openBreaking(port: number): Promise<string> {
  let answers = 0
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      answers += 1
      if (answers % 3 === 0) client.destroy()
      else client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('with the bundled service behind a breaking connection, nothing is bought twice and nothing stays unknown', async () => {
  const shop = await openShop({ upstream: 'mock' })
  onTestFinished(() => shop.service.close())
  const key = await shop.live(1_000)
  const url = await openBreaking(shop.service.port)
  const mill = await testMill({ api: { url, key }, settings: { ...fast, MILL_CREDIT_FLOOR: '5' } })
  onTestFinished(() => mill.close())
  await mill.plan(queries(20))
  await mill.drain()
  await mill.plan(queries(40).slice(20))
  await dies(startMortal(mill, 'replied'))
  await mill.drain()
  expect(await mill.states()).toEqual({ answered: 40 })
  const books = await booksOf(mill)
  expect(books).toMatchObject({ unread: 0, held: 0, used: 40 })
  expect(books?.again).toBeGreaterThan(5)
  const [used] = await shop.service.keys.usage()
  expect(used).toMatchObject({ credits: 40 })
})
