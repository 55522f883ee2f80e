import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDatabase, openPool } from '../../../src/base/database/database.ts'
import { liftStops } from '../../../src/core/ledger/change-tasks.ts'
import { freshUrl } from '../../support/database.ts'
import { verifyPromises } from '../../support/promises.ts'
import { type TestMill, testMill } from '../../support/mill.ts'
import { patienceMs } from '../../support/patience.ts'
import { backends } from '../../support/redis.ts'
import { openScene, queries } from '../../support/scene.ts'

/** Names of the checks that the tables violate. */
async function broken(mill: TestMill): Promise<string[]> {
  const checks = await verifyPromises(mill.db)
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

async function rows<T>(mill: TestMill, text: string): Promise<T[]> {
  return (await sql<T>`${sql.raw(text)}`.execute(mill.db)).rows
}

describe.each(backends)('a worker with its queue on $name', (backend) => {
  test('buys each query of a run once and ends when nothing is left', async () => {
    const { api, mill } = await openScene({ backend })
    await mill.plan(queries(60))
    const summary = await mill.drain()
    expect(summary).toMatchObject({ finish: 'completed', answered: 60, calls: 60, failed: 0 })
    expect(summary.credits_remaining).toBe(api.balance())
    expect(await mill.states()).toEqual({ answered: 60 })
    expect(api.charges()).toHaveLength(60)
    expect(await rows(mill, 'select state, spent, reserved from runs')).toEqual([
      { state: 'done', spent: 60, reserved: 0 },
    ])
    expect(await broken(mill)).toEqual([])
  })

  test(
    'starts although the database refuses its first statements because of a lock',
    { tags: ['slow'] },
    async () => {
      const url = await freshUrl()
      const pool = openPool(url, { name: 'test', max: 8, ledger: true })
      const close = () => pool.end()
      const database = { url, pool, db: openDatabase(pool), close }
      onTestFinished(close)
      const { mill } = await openScene({ backend, database })
      await mill.plan(queries(3))
      const beside = new pg.Client({ connectionString: mill.databaseUrl })
      await beside.connect()
      onTestFinished(() => beside.end())
      await beside.query('begin')
      await beside.query('lock table workers in access exclusive mode')
      const drained = mill.drain()
      const waiting = async () => {
        const { rows: found } = await beside.query<{ waiting: number }>(
          `select count(*)::int as waiting from pg_locks where not granted and relation = 'workers'::regclass`,
        )
        return found[0]?.waiting ?? 0
      }
      const settings = { timeout: patienceMs, interval: 20 }
      await vi.waitFor(async () => expect(await waiting()).toBe(1), settings)
      await vi.waitFor(async () => expect(await waiting()).toBe(0), settings)
      await beside.query('rollback')
      expect(await drained).toMatchObject({ finish: 'completed', answered: 3, calls: 3 })
    },
  )

  test('stops at the floor and leaves every other task open without a try', async () => {
    const { api, mill } = await openScene({
      backend,
      api: { credits: 130 },
      settings: { MILL_CREDIT_FLOOR: '100' },
    })
    await mill.plan(queries(60))
    const summary = await mill.drain()
    expect(summary.finish).toBe('credit_floor')
    expect(api.least()).toBeGreaterThanOrEqual(100)
    expect(api.least()).toBeLessThanOrEqual(108)
    const states = await mill.states()
    expect((states['open'] ?? 0) + (states['answered'] ?? 0)).toBe(60)
    expect(
      await rows(mill, `select count(*) as tried from tasks where state = 'open' and attempts > 0`),
    ).toEqual([{ tried: 0 }])
    expect(await rows(mill, `select reason from stops where cleared_at is null`)).toEqual([
      { reason: 'credit_floor' },
    ])
  })

  test('continues after a top-up and resume, and not without', async () => {
    const { api, mill } = await openScene({ backend, api: { credits: 110 } })
    await mill.plan(queries(30))
    expect((await mill.drain()).finish).toBe('credit_floor')
    const before = api.charges().length
    api.renew(300)
    expect((await mill.drain()).finish).toBe('credit_floor')
    expect(api.charges()).toHaveLength(before)
    const [account] = await rows<{ id: number }>(mill, 'select id from accounts')
    await liftStops(mill.db, account?.id ?? 0)
    expect((await mill.drain()).finish).toBe('completed')
    expect(api.charges()).toHaveLength(30)
    expect(await rows(mill, 'select count(*) as n from stops where cleared_at is null')).toEqual([
      { n: 0 },
    ])
  })
})

describe('a worker with an API that refuses', () => {
  test('a refused key stops everything after the calls in flight, and a new key continues automatically', async () => {
    const fresh = 'sk_live_freshfreshfreshfresh'
    const { api, mill } = await openScene({
      api: { faults: [{ kind: 'status', status: 401, from: 10 }], keys: [fresh] },
    })
    await mill.plan(queries(60))
    const summary = await mill.drain({ lanes: 4 })
    expect(summary.finish).toBe('auth')
    expect(api.charges().length).toBeLessThanOrEqual(9 + 4 + 4)
    expect(await rows(mill, `select count(*) as n from tasks where attempts > 1`)).toEqual([
      { n: 0 },
    ])
    const sent = api.charges().length
    expect((await mill.drain()).finish).toBe('auth')
    expect(api.charges()).toHaveLength(sent)
    api.set({ faults: [] })
    const { pool, db, databaseUrl: url } = mill
    const database = { url, pool, db, close: () => Promise.resolve() }
    const renewed = await testMill({ api: { url: api.url, key: fresh }, database })
    expect((await renewed.drain()).finish).toBe('completed')
    await renewed.close()
    expect(await mill.states()).toEqual({ answered: 60 })
    expect(await rows(mill, 'select reason, cleared_by from stops')).toEqual([
      { reason: 'auth', cleared_by: 'key' },
    ])
    expect(await broken(mill)).toEqual([])
  })

  test.each([
    ['a page of a firewall', { body: 'html' as const }],
    ['an error of the API itself', { body: 'error' as const, code: 'FORBIDDEN' }],
  ])(
    'one query that is answered with 403 and %s fails alone, and the others are answered',
    async (_, how) => {
      const { mill } = await openScene({
        api: {
          delayMs: { least: 40, most: 60 },
          faults: [{ kind: 'status', status: 403, match: 'query 7', charged: false, ...how }],
        },
      })
      await mill.plan(queries(20))
      // Its last try, because the pauses between tries take a quarter of a minute.
      await sql`
        update tasks set attempts = 4
        where query_id = (select id from queries where q = 'query 7')`.execute(mill.db)
      expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 19, failed: 1 })
      expect(await rows(mill, `select reason from stops where reason = 'auth'`)).toEqual([])
    },
    60_000,
  )

  test(
    'one query for which the API refuses its key stops everything if it goes alone, and after one resume fails alone',
    { tags: ['slow'] },
    async () => {
      const { api, mill } = await openScene({
        // With a code of the API itself, one call at a time, so that at first the query does not seem to be the cause.
        api: {
          faults: [
            { kind: 'status', status: 403, match: 'poison', charged: false, code: 'FORBIDDEN' },
          ],
        },
        settings: { MILL_CONCURRENCY: '1' },
      })
      // One slice, because with two the second might be processed first.
      await mill.plan(['poison', ...queries(24)])
      expect((await mill.drain()).finish).toBe('auth')
      expect(api.charges()).toHaveLength(1)
      // Its last try, as above.
      await sql`
      update tasks set attempts = 4
      where query_id = (select id from queries where q = 'poison')`.execute(mill.db)
      const [account] = await rows<{ id: number }>(mill, 'select id from accounts')
      await liftStops(mill.db, account?.id ?? 0)
      expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 24, failed: 1 })
      const asked = api.charges().map(({ q }) => q)
      expect(asked).toHaveLength(26)
      expect([asked[0], asked.at(-1)]).toEqual(['poison', 'poison'])
      expect(await rows(mill, `select from stops where cleared_at is null`)).toEqual([])
    },
  )

  test('a rate limit applies across two workers', { tags: ['slow'] }, async () => {
    const { api, mill } = await openScene({ settings: { MILL_RATE_LIMIT: '10' } })
    await mill.plan(queries(50))
    await Promise.all([mill.drain(), mill.drain()])
    const began = api.charges().map(({ at }) => at)
    const within = began.map((at) => began.filter((other) => other >= at && other < at + 1_000))
    expect(began).toHaveLength(50)
    // One more than the limit may fall into a window that begins and ends with a call, and another because of the
    // network.
    expect(Math.max(...within.map((calls) => calls.length))).toBeLessThanOrEqual(12)
  })

  test('a request to slow down delays every call by the requested time, and uses no try', async () => {
    const { api, mill } = await openScene({
      api: { faults: [{ kind: 'rate', retryAfter: 'seconds', seconds: 2, only: [5] }] },
    })
    await mill.plan(queries(20))
    expect((await mill.drain({ lanes: 2 })).finish).toBe('completed')
    const calls = api.charges()
    const refused = calls.find(({ status }) => status === 429)
    const end = refused?.ended_at ?? 0
    const began = calls.map(({ at }) => at).filter((at) => at > end)
    expect(began.length).toBeGreaterThan(0)
    // The call of the other lane may have been sent before the refusal was read; no call is sent after that.
    expect(began.filter((at) => at - end < 2_000 - 50).length).toBeLessThanOrEqual(1)
    expect(Math.max(...began) - end).toBeGreaterThanOrEqual(2_000 - 50)
    expect(await rows(mill, 'select max(attempts) as most from tasks')).toEqual([{ most: 1 }])
    expect(await mill.states()).toEqual({ answered: 20 })
  })

  test('a drain that receives only requests to slow down ends as stalled with every task open', async () => {
    const { mill } = await openScene({
      api: { faults: [{ kind: 'rate', retryAfter: 'none', chance: 1 }] },
      settings: { MILL_STALL_MS: '3000' },
    })
    await mill.plan(queries(3))
    expect((await mill.drain()).finish).toBe('stalled')
    expect(await mill.states()).toEqual({ open: 3 })
    expect(await rows(mill, 'select max(attempts) as most from tasks')).toEqual([{ most: 0 }])
  })

  test('an answer that credits are used up stops at the floor without using a try', async () => {
    const { mill } = await openScene({
      api: { faults: [{ kind: 'status', status: 402, from: 6 }] },
    })
    await mill.plan(queries(20))
    expect((await mill.drain({ lanes: 2 })).finish).toBe('credit_floor')
    expect(
      await rows(mill, `select max(attempts) as most from tasks where state = 'open'`),
    ).toEqual([{ most: 0 }])
    expect(await broken(mill)).toEqual([])
  })

  test('a request that the API refuses fails permanently, and the others are answered', async () => {
    const { mill } = await openScene({
      api: { faults: [{ kind: 'status', status: 400, match: 'query 7' }] },
    })
    await mill.plan(queries(8))
    const summary = await mill.drain()
    expect(summary).toMatchObject({ finish: 'completed', answered: 7, failed: 1 })
    expect(await rows(mill, `select state, search_id from tasks where state = 'failed'`)).toEqual([
      { state: 'failed', search_id: null },
    ])
  })
})

describe('a worker with unreadable answers', () => {
  test('an interrupted call is bought again at most twice, then the task is unknown', async () => {
    const { api, mill } = await openScene({ api: { faults: [{ kind: 'drop', match: 'query 2' }] } })
    await mill.plan(queries(3))
    const summary = await mill.drain()
    expect(summary).toMatchObject({ finish: 'completed', answered: 2, unknown: 1 })
    expect(api.charges().filter(({ q }) => q === 'query 2')).toHaveLength(3)
    expect(
      await rows(mill, `select attempts, ambiguous from tasks where state = 'unknown'`),
    ).toEqual([{ attempts: 3, ambiguous: 3 }])
    expect(
      await rows(
        mill,
        `select sum(credits_reserved) > 0 as held from calls where outcome = 'unknown' and washed_at is null`,
      ),
    ).toEqual([{ held: true }])
    expect(await broken(mill)).toEqual([])
  })

  test('with hold, an interrupted call is never bought again', async () => {
    const { api, mill } = await openScene({
      api: { faults: [{ kind: 'drop', match: 'query 2' }] },
      settings: { MILL_UNKNOWN: 'hold' },
    })
    await mill.plan(queries(3))
    expect(await mill.drain()).toMatchObject({ answered: 2, unknown: 1 })
    expect(api.charges().filter(({ q }) => q === 'query 2')).toHaveLength(1)
  })

  test('a server error is retried and the answer stored', async () => {
    const { mill } = await openScene({
      api: { faults: [{ kind: 'status', status: 503, times: 1 }] },
    })
    await mill.plan(queries(4))
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 4, unknown: 0 })
    expect(await broken(mill)).toEqual([])
  })

  test('a body that is not an answer is stored, marked and never bought again', async () => {
    const { api, mill } = await openScene({
      api: { faults: [{ kind: 'body', body: 'html', match: 'query 2' }] },
    })
    await mill.plan(queries(3))
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 3, unreadable: 1 })
    expect(api.charges()).toHaveLength(3)
    expect(
      await rows(
        mill,
        `select s.parse_error is not null as marked, octet_length(r.body) > 0 as kept,
           (select count(*) from organic_results o where o.search_id = s.id) as results
         from searches s join raw_answers r using (call_id) where s.parse_error is not null`,
      ),
    ).toEqual([{ marked: true, kept: true, results: 0 }])
    expect(await broken(mill)).toEqual([])
  })

  test('an answer without a price is settled by its reported balance', async () => {
    const { mill } = await openScene({
      api: { faults: [{ kind: 'credits', field: 'used', value: 'missing', match: 'query 5' }] },
    })
    await mill.plan(queries(6))
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 6 })
    // The estimate may count a call that was in flight at the same time, and is never lower than the charge.
    expect(
      await rows(
        mill,
        `select outcome, count(*) as calls, sum(credits_used) >= 6 as enough from calls group by outcome`,
      ),
    ).toEqual([{ outcome: 'settled', calls: 6, enough: true }])
    expect(await broken(mill)).toEqual([])
  })
})

describe('a worker with a query that kills workers', () => {
  test(
    'tasks with two dead workers go out one by one, so that only the one that caused it is blamed',
    { tags: ['slow'] },
    async () => {
      const { api, mill } = await openScene()
      await mill.plan(queries(3))
      await sql`update tasks set deaths = 2`.execute(mill.db)
      expect((await mill.drain({ lanes: 8 })).answered).toBe(3)
      const alone = api.charges().toSorted((a, b) => a.at - b.at)
      alone.slice(1).forEach((call, index) => {
        expect(call.at).toBeGreaterThanOrEqual(alone[index]?.ended_at ?? 0)
      })
    },
  )
})

describe('a worker with limited credits', () => {
  test(
    'a drain stops at the floor although another worker with a higher floor holds the slices',
    { tags: ['slow'] },
    async () => {
      const { api, mill } = await openScene({ settings: { MILL_CREDIT_FLOOR: '10' } })
      const { databaseUrl: url, pool, db } = mill
      const careful = await testMill({
        api,
        database: { url, pool, db, close: () => Promise.resolve() },
        settings: { MILL_CREDIT_FLOOR: '100000' },
      })
      onTestFinished(() => careful.close())
      await mill.plan(queries(30))
      const stop = new AbortController()
      const standing = careful.drain({ drain: false, signal: stop.signal })
      await expect
        .poll(
          async () =>
            (await sql`select from stops where reason = 'credit_floor'`.execute(mill.db)).rows,
        )
        .toHaveLength(1)
      expect((await mill.drain()).finish).toBe('credit_floor')
      stop.abort()
      await standing
    },
  )

  test.each([1, 2, 8])(
    'a task with an existing answer uses it, although the budget of its run is used up by another, with %i lanes',
    async (lanes) => {
      const { api, mill } = await openScene()
      await mill.plan(['known'], { list: 'first' })
      await mill.drain()
      const more = { list: 'second', budget: 1, maxAgeMs: 3_600_000 }
      await mill.plan(['new 1', 'new 2', 'known'], more)
      expect((await mill.drain({ lanes })).finish).toBe('budget')
      expect(await mill.states()).toEqual({ answered: 2, reused: 1, unaffordable: 1 })
      expect(api.charges()).toHaveLength(2)
    },
  )

  test('the budget of a run is never exceeded, and tasks beyond it are unaffordable', async () => {
    const { api, mill } = await openScene()
    await mill.plan(queries(30), { budget: 12 })
    expect((await mill.drain()).finish).toBe('budget')
    expect(api.charges()).toHaveLength(12)
    expect(await mill.states()).toEqual({ answered: 12, unaffordable: 18 })
    expect(await rows(mill, 'select state, spent from runs')).toEqual([
      { state: 'done', spent: 12 },
    ])
  })

  test('the budget of the day is never exceeded, and tasks beyond it stay open', async () => {
    const { api, mill } = await openScene({ settings: { MILL_DAILY_BUDGET: '9' } })
    await mill.plan(queries(30))
    expect((await mill.drain()).finish).toBe('budget')
    expect(api.charges()).toHaveLength(9)
    expect(await mill.states()).toEqual({ answered: 9, open: 21 })
  })

  test(
    'if not everything is affordable, the most urgent is bought first',
    { tags: ['slow'] },
    async () => {
      const { mill } = await openScene({ api: { credits: 130 } })
      await mill.plan(queries(40), { list: 'later', priority: 9 })
      await mill.plan(
        queries(25).map((q) => `urgent ${q}`),
        { list: 'now', priority: 1 },
      )
      expect((await mill.drain()).finish).toBe('credit_floor')
      expect(
        await rows(
          mill,
          `select count(*) as n from tasks where priority = 1 and state = 'answered'`,
        ),
      ).toEqual([{ n: 25 }])
    },
  )

  test('a test account never stops for lack of credits, and its answers are marked', async () => {
    const { mill } = await openScene({ api: { kind: 'test', credits: 5 } })
    await mill.plan(queries(10))
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 10 })
    expect(await rows(mill, 'select distinct origin from searches')).toEqual([{ origin: 'test' }])
  })

  test('a query that another run has just been answered is reused, not bought', async () => {
    const { api, mill } = await openScene()
    await mill.plan(queries(10), { list: 'one' })
    await mill.plan(queries(10), { list: 'two', maxAgeMs: 3_600_000 })
    await mill.plan(queries(10), { list: 'three', maxAgeMs: 3_600_000 })
    const summary = await mill.drain()
    expect(summary.finish).toBe('completed')
    const states = await mill.states()
    expect((states['answered'] ?? 0) + (states['reused'] ?? 0)).toBe(30)
    expect(api.charges().length).toBeLessThanOrEqual(20)
    expect(await broken(mill)).toEqual([])
  })
})
