// @module-tag slow
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cron, readCron } from '../../../src/base/time/cron.ts'
import { type CreditForecast, readCreditForecast } from '../../../src/core/forecast/foresee.ts'
import { fraction } from '../../../src/base/random.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

const hour = 3_600_000
const floor = 100
const supplier = { account: 'bank', origin: 'live', api: 'api.example' } as const
const config = {
  ...{ creditFloor: floor, maxAgeMs: 20 * hour, dailyBudget: null, monthlyBudget: null },
  ...{ renewal: null, zone: 'UTC' },
}
const forecast = (more: { readonly renewal?: Cron } = {}) =>
  readCreditForecast({ db: database.db, supplier, config: { ...config, ...more } }, { days: 0.5 })

/**
 * Two lists that share thirty queries. The second is bought two hours after the first, and reuses answers younger than
 * three hours.
 */
async function lists(): Promise<void> {
  await database.pool.query(`
    insert into accounts (name, kind) values ('bank', 'live');
    insert into lists (name, source) values ('large', 'large.csv'), ('small', 'small.csv');
    insert into queries (id, key, q, num)
    select md5(n::text)::uuid, n::text, 'query ' || n, 10 from generate_series(1, 150) n;
    insert into list_queries (list_id, query_id, first_seen, last_seen)
    select 1, md5(n::text)::uuid, now(), now() from generate_series(1, 120) n
    union all select 2, md5(n::text)::uuid, now(), now() from generate_series(91, 150) n`)
  const at = (hours: number) => {
    const time = new Date(Date.now() + hours * hour)
    return `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`
  }
  await sql`
    insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at, max_age_ms)
    values
      ('large', 'large', ${at(1)}, 'UTC', 'latest', 'skip', true, now(), now(), ${20 * hour}),
      ('small', 'small', ${at(3)}, 'UTC', 'latest', 'skip', true, now(), now(), ${3 * hour})
  `.execute(database.db)
}

interface World {
  balance: number
  price: number
  seq: number
}

/**
 * Buys queries an hour from now, as a night would: some fail at no cost, some cost one credit more, and the floor stops
 * it.
 */
async function ask(
  world: World,
  night: string,
  { at, queries }: { at: number; queries: number[] },
) {
  const rows = []
  let bought = 0
  let paid = 0
  for (const query of queries) {
    const odd = fraction(`${night} ${query} odd`) < 0.04
    const used = world.price + (odd ? 1 : 0)
    if (world.balance - 3 < floor) break
    bought += 1
    const failed = fraction(`${night} ${query} fails`) < 0.03
    if (!failed) {
      world.balance -= used
      paid += used
    }
    world.seq += 1
    rows.push({ query, used: failed ? 0 : used, failed, remaining: world.balance, seq: world.seq })
  }
  await sql`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g (
        query integer, used integer, failed boolean, remaining bigint, seq bigint
      )
    ),
    called as (
      insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total,
        credits_reserved, credits_used, credits_remaining, http_status, outcome, class)
      select seq, md5(query::text)::uuid, 1, 1, now() + ${at} * interval '1 hour',
        now() + ${at} * interval '1 hour' + (row_number() over (order by seq)) * interval '1 second', seq, 0, 3, used,
        case when failed then null else remaining end, case when failed then 503 else 200 end, 'settled', '10/-'
      from given
      order by seq
      returning id, query_id, sent_at, http_status
    )
    insert into searches (id, call_id, task_id, query_id, fetched_at, origin, api)
    select id, id, 1, query_id, sent_at, 'live', 'api.example' from called where http_status = 200
  `.execute(database.db)
  return { bought, paid }
}

/** A day passes: all stored times move back by a day. */
async function sleep(world: World): Promise<void> {
  await sql`update calls set sent_at = sent_at - interval '1 day', finished_at = finished_at - interval '1 day'`.execute(
    database.db,
  )
  await sql`update searches set fetched_at = fetched_at - interval '1 day'`.execute(database.db)
  await sql`
    update accounts
    set obs_remaining = ${world.balance}, obs_at = now() - interval '12 hours', obs_seq = ${world.seq}
  `.execute(database.db)
  await sql`
    insert into account_costs (account_id, class, dearest, cheapest, seen)
    values (1, '10/-', 3, 1, 100) on conflict do nothing`.execute(database.db)
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

function stepsOf({ outcome }: CreditForecast) {
  if (outcome.kind === 'unknown') throw new Error(`nobody knows the ${outcome.missing}`)
  return outcome.steps
}

describe('the forecast', () => {
  test('of sixty nights is usually right to 3 %, and never says that a night fits if it does not', async () => {
    await lists()
    const world: World = { balance: 2400, price: 1, seq: 0 }
    await ask(world, 'first', { at: -20.5, queries: range(1, 150) })
    await sleep(world)
    const errors: number[] = []
    const broken: string[] = []
    let stopped = 0
    for (let night = 1; night <= 60; night += 1) {
      // Some were bought manually two hours ago, and nights reuse them.
      const byHand = range(1, night % 4 === 0 ? 25 : 0)
      await ask(world, `hand ${night}`, { at: -2, queries: byHand })
      await sql`update accounts set obs_remaining = ${world.balance}`.execute(database.db)
      const [large, small] = stepsOf(await forecast())
      // Prices change in mid-winter and the account is topped up now and then; neither can be predicted.
      if (night === 20) world.price = 2
      if (night === 45) world.price = 1
      const first = await ask(world, `large ${night}`, {
        ...{ at: 1, queries: range(byHand.length + 1, 120) },
      })
      const second = await ask(world, `small ${night}`, { at: 3, queries: range(121, 150) })
      for (const [step, bill, wanted] of [
        [large, first, 120 - byHand.length],
        [small, second, 30],
      ] as const) {
        if (bill.bought < wanted) stopped += 1
        if (step?.sure === true && bill.bought < wanted) broken.push(`night ${night}`)
      }
      const paid = first.paid + second.paid
      const foreseen = (large?.credits ?? 0) + (small?.credits ?? 0)
      if (paid > 0) errors.push(Math.abs(foreseen - paid) / paid)
      if (night % 15 === 0) world.balance += 2200
      await sleep(world)
    }
    expect(broken).toEqual([])
    expect(stopped).toBeGreaterThan(3)
    const median = errors.toSorted((a, b) => a - b)[Math.floor(errors.length / 2)]
    expect(median).toBeLessThan(0.03)
    expect(errors.length).toBeGreaterThan(40)
  })

  test('assumes that the next renewal equals the last one', async () => {
    const soon = new Date(Date.now() + hour / 2)
    const read = readCron(`${soon.getUTCMinutes()} ${soon.getUTCHours()} * * *`)
    if (read.kind === 'problem') throw new Error(read.problem)
    const lastRenewal = new Date(soon.setUTCSeconds(0, 0) - 24 * hour)
    const { rows } = await sql<{ most: number }>`
      select max(credits_remaining + credits_used) as most
      from calls
      where sent_at >= ${lastRenewal}`.execute(database.db)
    const found = await forecast({ renewal: read.cron })
    expect(found.renewal?.balance).toBe(rows[0]?.most)
    expect(stepsOf(found).find(({ kind }) => kind === 'renewal')?.after).toBe(rows[0]?.most)
  })

  test('of schedules for every minute ends after ten thousand nights, and is not shorter otherwise', async () => {
    const read = () =>
      readCreditForecast({ db: database.db, supplier, config: { ...config } }, { days: 30 })
    const daily = await read()
    expect(daily.isShorter).toBe(false)
    await sql`update schedules set cron = '* * * * *' where name = 'large'`.execute(database.db)
    const found = await read()
    expect(found.isShorter).toBe(true)
    expect(found.until.getTime() - found.now.getTime()).toBe(6 * 24 * hour)
    expect(stepsOf(found).filter(({ kind }) => kind === 'night').length).toBeGreaterThan(6 * 1440)
  })
})
