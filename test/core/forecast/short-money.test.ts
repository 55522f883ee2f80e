// @module-tag slow
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCreditForecast } from '../../../src/core/forecast/foresee.ts'
import { fraction } from '../../../src/base/random.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

const due = new Date(Date.now() + 3_600_000)
const date = due.toISOString().slice(0, 10)
const floor = 100
const nights = 60
const supplier = { account: 'bank', origin: 'live', api: 'api.example' } as const
const config = {
  ...{
    creditFloor: floor,
    maxAgeMs: 0,
    dailyBudget: null,
    monthlyBudget: null,
    renewal: null,
    zone: 'UTC',
  },
} as const

/** In the order in which their nights are bought. The last list has a different interval for each query. */
const lists = ['urgent', 'usual', 'adaptive'] as const
type List = (typeof lists)[number]
const size = 60
const intervalOf = (query: number) => [1, 2, 3, 7][query % 4] ?? 1
const queriesOf = (list: List) =>
  Array.from({ length: size }, (_, nth) => lists.indexOf(list) * size + nth + 1)

/** All three are due in the same minute, in an hour. */
async function writeLists(): Promise<void> {
  await database.pool.query(`
    insert into accounts (name, kind) values ('bank', 'live');
    insert into account_costs (account_id, class, dearest, cheapest, seen) values (1, '10/-', 3, 1, 100);
    insert into lists (name, source) select name, name || '.csv' from unnest(array['${lists.join("', '")}']) as name;
    insert into queries (id, key, q, num)
    select md5(n::text)::uuid, n::text, 'query ' || n, 10 from generate_series(1, ${lists.length * size}) as n;
    insert into list_queries (list_id, query_id, first_seen, last_seen)
    select 1 + (n - 1) / ${size}, md5(n::text)::uuid, now(), now() from generate_series(1, ${lists.length * size}) as n`)
  const cron = `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`
  // Their names are not in the order of their priorities.
  await sql`
    insert into schedules (
      name, list, cron, zone, missed, overlap, enabled, known_until, seen_at, max_age_ms, priority, adaptive_days
    )
    values
      ('a', 'adaptive', ${cron}, 'UTC', 'latest', 'skip', true, now(), now(), 0, 7, 7),
      ('m', 'usual', ${cron}, 'UTC', 'latest', 'skip', true, now(), now(), 0, 5, null),
      ('z', 'urgent', ${cron}, 'UTC', 'latest', 'skip', true, now(), now(), 0, 2, null)`.execute(
    database.db,
  )
}

interface World {
  balance: number
  seq: number
  readonly boughtOn: Map<number, number>
}

/** Buys the queries of a list's night: a few fail at no cost, a few cost one credit more, and the floor stops it. */
async function buy(world: World, list: List, night: number) {
  const asked = queriesOf(list).filter((query) => {
    const last = world.boughtOn.get(query)
    return list !== 'adaptive' || last === undefined || night - last >= intervalOf(query)
  })
  const rows = []
  let paid = 0
  for (const query of asked) {
    if (world.balance - 3 < floor) break
    world.seq += 1
    const failed = fraction(`${night} ${query} fails`) < 0.01
    const used = failed ? 0 : fraction(`${night} ${query} odd`) < 0.04 ? 2 : 1
    world.balance -= used
    paid += used
    if (!failed) world.boughtOn.set(query, night)
    rows.push({ query, used, failed, remaining: world.balance, seq: world.seq })
  }
  await sql`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g (
        query integer, used integer, failed boolean, remaining bigint, seq bigint
      )
    ),
    run as (
      insert into runs (list_id, run_date, kind, state)
      select id, ${date}::date, 'nightly', 'done' from lists where name = ${list}
      returning id
    ),
    asked as (
      insert into tasks (run_id, query_id, slice, state)
      select run.id, md5(query::text)::uuid, 0, case when failed then 'failed' else 'answered' end from given, run
      returning id, query_id
    ),
    called as (
      insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total,
        credits_reserved, credits_used, credits_remaining, http_status, outcome, class)
      select asked.id, asked.query_id, 1, 1, now() + interval '1 hour', now() + interval '1 hour', seq, 0, 3, used,
        case when failed then null else remaining end, case when failed then 503 else 200 end, 'settled', '10/-'
      from given
      join asked on asked.query_id = md5(given.query::text)::uuid
      returning id, task_id, query_id, sent_at, http_status
    ),
    decided as (
      insert into cadences (list_id, query_id, decided_on, interval_days, due_on, by_chance, why)
      select lists.id, md5(query::text)::uuid, ${date}::date, every.days,
        ${date}::date + every.days, false, ''
      from given, lists, lateral (select (array[1, 2, 3, 7])[1 + query % 4] as days) as every
      where lists.name = ${list} and lists.name = 'adaptive' and not failed
      on conflict (list_id, query_id) do update set decided_on = excluded.decided_on, due_on = excluded.due_on
    )
    insert into searches (id, call_id, task_id, query_id, fetched_at, origin, api)
    select id, id, task_id, query_id, sent_at, 'live', 'api.example' from called where http_status = 200
  `.execute(database.db)
  return { paid, cut: rows.length < asked.length }
}

/** A day passes: all stored times move back by a day. */
async function sleep({ balance, seq }: World): Promise<void> {
  await database.pool.query(`
    update calls set sent_at = sent_at - interval '1 day', finished_at = finished_at - interval '1 day';
    update searches set fetched_at = fetched_at - interval '1 day';
    update runs set run_date = run_date - 1;
    update cadences set decided_on = decided_on - 1, due_on = due_on - 1;
    update accounts set obs_remaining = ${balance}, obs_at = now() - interval '12 hours', obs_seq = ${seq}`)
}

/** The value that this share of the numbers does not exceed. */
function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? NaN
}

test(`the forecasts of ${nights} nights name the list that is cut short, by priority and not by name, and have the right cost, for adaptive lists too`, async () => {
  await writeLists()
  const world: World = { balance: 1500, seq: 0, boughtOn: new Map() }
  const errors: number[] = []
  const named = { right: 0, wrong: [] as string[] }
  const broken: string[] = []
  for (let night = 0; night < nights; night += 1) {
    await sleep(world)
    const { outcome } = await readCreditForecast(
      { db: database.db, supplier, config },
      { days: 0.5 },
    )
    const bills = new Map<List, Awaited<ReturnType<typeof buy>>>()
    for (const list of lists) bills.set(list, await buy(world, list, night))
    const cut = lists.filter((list) => bills.get(list)?.cut)
    if (outcome.kind === 'known') {
      const { steps } = outcome
      const foreseen = lists.filter(
        (list) => steps.find((one) => one.list === list)?.cut === 'floor',
      )
      if (cut.length > 0 || foreseen.length > 0) {
        if (cut.join() === foreseen.join()) named.right += 1
        else named.wrong.push(`night ${night}: ${foreseen.join()} for ${cut.join()}`)
      }
      for (const { list, sure } of steps) {
        if (sure && cut.some((one) => one === list)) broken.push(`night ${night}: ${list}`)
      }
      const paid = lists.reduce((sum, list) => sum + (bills.get(list)?.paid ?? 0), 0)
      const credits = steps.reduce((sum, step) => sum + step.credits, 0)
      if (paid > 0) errors.push(Math.abs(credits - paid) / paid)
    }
    // Now and then credits are added, too few or enough, which can't be predicted.
    if (night % 9 === 8) world.balance += 300 + Math.floor(800 * fraction(`top-up ${night}`))
  }
  const all = named.right + named.wrong.length
  process.stderr.write(
    `${named.right} of ${all} cuts named right; errors: median ${quantile(errors, 0.5).toFixed(4)}, 90th percentile ${quantile(errors, 0.9).toFixed(4)}, of ${errors.length} nights\n${named.wrong.join('\n')}\n`,
  )
  expect(broken).toEqual([])
  expect(all).toBeGreaterThan(10)
  expect(named.right / all).toBeGreaterThanOrEqual(0.95)
  expect(quantile(errors, 0.5)).toBeLessThanOrEqual(0.03)
  expect(quantile(errors, 0.9)).toBeLessThanOrEqual(0.1)
  expect(errors.length).toBeGreaterThan(30)
})
