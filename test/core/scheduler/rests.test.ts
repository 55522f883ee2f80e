// @module-tag slow
import { writeFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { planList } from '../../../src/core/enqueue/planning.ts'
import { readCreditForecast } from '../../../src/core/forecast/foresee.ts'
import { noDefaults } from '../../../src/core/lists/options.ts'
import { type NightTable, openNights } from '../../support/nights.ts'
import { scheduleOf } from './world.ts'

let table: NightTable

beforeEach(async () => {
  table = await openNights()
})
afterEach(async () => table.close())

const schedule = (changes: Parameters<typeof scheduleOf>[0] = {}) =>
  scheduleOf({ list: table.file, ...changes })

/** A day of October, some seconds past two. */
const due = (day: number) => `2026-10-${String(day).padStart(2, '0')}T02:00:20Z`

/** Runs the night of a day: every open task gets an answer of this age, and the run ends. */
async function night(
  day: number,
  changes: Parameters<typeof scheduleOf>[0] & { age?: string; broken?: boolean } = {},
) {
  const { age = '1 hour', broken = false, ...rest } = changes
  await table.tickAt(due(day), schedule(rest))
  const run = (await table.runs()).at(-1)?.id ?? 0
  const states = await statesOf(run)
  await sql`
    with fresh as (
      insert into searches (id, call_id, task_id, query_id, fetched_at, origin, api, parse_error)
      select
        coalesce((select max(id) from searches), 0) + row_number() over (), -id, id, query_id,
        now() - ${age}::interval, 'sandbox', 'bundled', case when ${broken} then 'broken' end
      from tasks
      where run_id = ${run} and state = 'open'
      returning id, task_id
    )
    update tasks
    set state = 'answered', search_id = fresh.id, finished_at = now()
    from fresh
    where tasks.id = fresh.task_id`.execute(table.db)
  await table.answerAll()
  return { run, states }
}

async function statesOf(run: number): Promise<Record<string, string>> {
  const { rows } = await sql<{ q: string; state: string }>`
    select q, state
    from tasks
    join queries on queries.id = query_id
    where run_id = ${run}`.execute(table.db)
  return Object.fromEntries(rows.map(({ q, state }) => [q, state]))
}

/** Plans the current file of the list, without the scheduler. */
function planOf(order: { kind: 'manual' | 'nightly'; runDate: string; adaptive?: boolean }) {
  return planList(
    { db: table.db, supplier: { origin: 'sandbox', api: 'bundled', account: 'bundled' } },
    {
      list: 'words',
      from: { kind: 'file', path: table.file, shown: 'words.csv' },
      reading: { matchTypes: 'keep', defaults: noDefaults },
      budget: null,
      maxAgeMs: 0,
      into: null,
      ...order,
    },
  )
}

/** The open tasks of a run in the order in which they are bought. */
async function orderOf(run: number): Promise<readonly string[]> {
  const { rows } = await sql<{ q: string }>`
    select q
    from tasks
    join queries on queries.id = query_id
    where run_id = ${run} and state = 'open'
    order by tasks.priority, tasks.slice, tasks.id`.execute(table.db)
  return rows.map(({ q }) => q)
}

const write = (text: string) => writeFileSync(table.file, text)

describe('a query with an interval', () => {
  test('is bought once per interval, by dates, and its last answer is used in between', async () => {
    write('query,every\nred shoes,3d\nblue shoes,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    const seen = []
    for (const day of [1, 2, 3, 4, 5]) seen.push((await night(day)).states['red shoes'])
    expect(seen).toEqual(['open', 'not_asked', 'not_asked', 'open', 'not_asked'])
    const { rows } = await sql`
      select distinct tasks.state, own.run_id as from_run, slices.done_at is not null as done
      from tasks
      join slices using (run_id, slice)
      join searches on searches.id = tasks.search_id
      join tasks as own on own.id = searches.task_id
      where tasks.run_id = 5
      order by tasks.state`.execute(table.db)
    expect(rows).toEqual([
      { state: 'answered', from_run: 5, done: true },
      { state: 'not_asked', from_run: 4, done: true },
    ])
    expect(table.told.at(-1)).toContain('1 to buy, 0 reused, 1 not asked')
  })

  test('is skipped as well if its file is broken and the night uses the last reading', async () => {
    write('query,every\nred shoes,weekly\nblue shoes,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1)
    write('')
    const { states } = await night(2)
    expect(states).toEqual({ 'red shoes': 'not_asked', 'blue shoes': 'open' })
  })

  test('in several lines has the shortest of their intervals', async () => {
    write('query,every\nred shoes,monthly\nred shoes,2d\nblue shoes,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    const seen = []
    for (const day of [1, 2, 3]) seen.push((await night(day)).states['red shoes'])
    expect(seen).toEqual(['open', 'not_asked', 'open'])
  })

  test('is bought again the next night while it has no readable answer', async () => {
    write('query,every\nred shoes,weekly\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1, { broken: true })
    expect((await night(2)).states).toEqual({ 'red shoes': 'open' })
    expect((await night(3)).states).toEqual({ 'red shoes': 'not_asked' })
  })

  test('is bought again after a suspect night, whose answers do not count', async () => {
    write('query,every\nred shoes,weekly\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    const { run } = await night(1)
    await sql`update runs set suspect = true where id = ${run}`.execute(table.db)
    expect((await night(2)).states).toEqual({ 'red shoes': 'open' })
  })

  test('is bought by a night that joins an older run that skipped it, and by none twice', async () => {
    const merged = schedule({ overlap: 'merge' })
    write('query,every\nred shoes,2d\ngreen shoes,weekly\nblue shoes,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), merged)
    await night(1)
    await table.tickAt(due(2), merged)
    const run = (await table.runs()).at(-1)?.id ?? 0
    expect(await statesOf(run)).toMatchObject({ 'red shoes': 'not_asked', 'blue shoes': 'open' })
    await table.tickAt(due(3), merged)
    const after = { 'red shoes': 'open', 'green shoes': 'not_asked', 'blue shoes': 'open' }
    expect(await statesOf(run)).toEqual(after)
    expect(table.told.at(-1)).toMatch(/joined run 2 .*: 1 to buy, 0 reused, 1 not asked/)
    const { rows } = await sql<{ q: string; done: boolean }>`
      select q, slices.done_at is not null as done
      from tasks
      join slices using (run_id, slice)
      join queries on queries.id = query_id
      where run_id = ${run}
      order by q`.execute(table.db)
    expect(rows.map(({ q, done }) => [q, done])).toEqual([
      ['blue shoes', false],
      ['green shoes', true],
      ['red shoes', false],
    ])
    await table.tickAt(due(4), merged)
    expect(await statesOf(run)).toEqual(after)
    expect(table.told.at(-1)).toMatch(/joined run 2 .*: 0 to buy/)
  })

  test('is not skipped because of an answer with a future date from a wrong clock', async () => {
    write('query,every\nred shoes,2d\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    const { run } = await night(1)
    await sql`update runs set run_date = '2026-12-31' where id = ${run}`.execute(table.db)
    expect((await night(2)).states).toEqual({ 'red shoes': 'open' })
    expect((await night(3)).states).toEqual({ 'red shoes': 'not_asked' })
  })

  test('is bought by a manual enqueue', async () => {
    write('query,every\nred shoes,weekly\nblue shoes,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1)
    const plan = await planOf({ kind: 'manual', runDate: '2026-10-02' })
    expect(plan).toMatchObject({ queued: 2, reused: 0, notAsked: 0 })
  })

  test('in every line of a list: the night is over at once, and nothing was to be bought', async () => {
    write('query,every\nred shoes,weekly\nblue shoes,weekly\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1)
    await table.tickAt(due(2), schedule())
    expect((await table.runs()).at(-1)).toMatchObject({ date: '2026-10-02', state: 'done' })
  })
})

describe('the forecast of a night', () => {
  test('leaves out queries that their list skips until then', async () => {
    write('query,every\nred shoes,10d\nblue shoes,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1, { age: '30 hours' })
    await sql`update runs set run_date = current_date`.execute(table.db)
    await sql`
      insert into accounts (name, kind, obs_remaining, obs_at) values ('bundled', 'sandbox', 500, now());
    `.execute(table.db)
    await sql`
      insert into account_costs (account_id, class, dearest, cheapest, seen)
      values (1, '10/-', 1, 1, 100)`.execute(table.db)
    const supplier = { account: 'bundled', origin: 'sandbox', api: 'bundled' } as const
    const config = {
      ...{ creditFloor: 0, maxAgeMs: 0, dailyBudget: null, monthlyBudget: null },
      ...{ renewal: null, zone: 'UTC' },
    }
    const forecast = await readCreditForecast({ db: table.db, supplier, config }, { days: 3 })
    if (forecast.outcome.kind === 'unknown') throw new Error(forecast.outcome.missing)
    const told = forecast.outcome.steps.map(({ asked, fresh }) => [asked, fresh])
    expect(told).toEqual([1, 1, 1].map(() => [1, 1]))
  })
})

describe('a query with a maximum age', () => {
  test('reuses an answer as old as its line allows, whatever the night allows', async () => {
    write('query,max_age\nred shoes,3h\nblue shoes,30m\ngreen shoes,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1, { age: '2 hours' })
    const { states } = await night(2, { maxAgeMs: 3_600_000 })
    expect(states).toEqual({ 'red shoes': 'reused', 'blue shoes': 'open', 'green shoes': 'open' })
    const third = await night(3, { maxAgeMs: 4 * 3_600_000 })
    expect(third.states).toEqual({
      'red shoes': 'reused',
      'blue shoes': 'open',
      'green shoes': 'reused',
    })
  })

  test('does not reuse an older one either when a worker checks again before it buys', async () => {
    write('query,max_age\nred shoes,30m\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1, { age: '2 hours' })
    await table.tickAt(due(2), schedule({ maxAgeMs: 24 * 3_600_000 }))
    const { rows } = await sql`
      select answers_after > now() - interval '31 minutes' as late_enough
      from tasks
      where state = 'open'`.execute(table.db)
    expect(rows).toEqual([{ late_enough: true }])
  })

  test('and a contradictory interval is reported, and bought by the longer of the two', async () => {
    write('query,every,max_age\nred shoes,1d,7d\nblue shoes,3d,12h\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1)
    const { states } = await night(2)
    expect(states).toEqual({ 'red shoes': 'reused', 'blue shoes': 'not_asked' })
    expect(table.told.at(-1)).toContain('1 query has an "every" interval')
  })
})

describe('a list with an adaptive schedule', () => {
  const adaptive = {
    longestDays: 14,
  } as const

  async function decided(q: string, dueOn: string, byChance = false) {
    await sql`
      insert into cadences (list_id, query_id, decided_on, interval_days, due_on, by_chance, why)
      select lists.id, queries.id, '2026-10-01', 5, ${dueOn}, ${byChance}, 'a test'
      from lists, queries
      where queries.q = ${q}`.execute(table.db)
  }

  /** Plans it as its night would, with the stored decisions; a scheduler would decide again. */
  async function adaptiveNight(runDate: string): Promise<Record<string, string>> {
    const { run } = await planOf({ kind: 'nightly', runDate, adaptive: true })
    return statesOf(run)
  }

  test('skips a query that is not due, unless it is sampled or was never answered', async () => {
    write('query\nred shoes\nblue shoes\ngreen shoes\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule(adaptive))
    await night(1, adaptive)
    write('query\nred shoes\nblue shoes\ngreen shoes\nnew shoes\n')
    await decided('red shoes', '2026-10-05')
    await decided('blue shoes', '2026-10-05', true)
    await decided('green shoes', '2026-10-02')
    expect(await adaptiveNight('2026-10-02')).toEqual({
      'red shoes': 'not_asked',
      'blue shoes': 'open',
      'green shoes': 'open',
      'new shoes': 'open',
    })
    expect(await adaptiveNight('2026-10-05')).toMatchObject({ 'red shoes': 'open' })
  })

  test('uses the interval of a line before its history', async () => {
    write('query,every,max_age\nred shoes,1d,\nblue shoes,,30m\ngreen shoes,3d,\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule(adaptive))
    await night(1, adaptive)
    for (const q of ['red shoes', 'blue shoes']) await decided(q, '2026-10-09')
    await decided('green shoes', '2026-10-02')
    expect(await adaptiveNight('2026-10-02')).toEqual({
      'red shoes': 'open',
      'blue shoes': 'open',
      'green shoes': 'not_asked',
    })
  })

  test('buys every query once its schedule is no longer adaptive', async () => {
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule(adaptive))
    await night(1, adaptive)
    await decided('red shoes', '2026-10-09')
    expect((await night(2)).states).toEqual({ 'red shoes': 'open', 'blue shoes': 'open' })
  })
})

describe('the first purchase of a night', () => {
  test('has the highest weight and, among equal weights, was never or least recently bought', async () => {
    write('query,weight\nold,1\nyoung,1\nheavy,5\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1)
    await sql`
      update searches
      set fetched_at = fetched_at - interval '9 days'
      where query_id = (select id from queries where q = 'old')`.execute(table.db)
    write('query,weight\nyoung,1\nold,1\nnever,1\nheavy,5\n')
    await table.tickAt(due(2), schedule())
    expect(await orderOf(2)).toEqual(['heavy', 'never', 'old', 'young'])
  })

  test('is, before all weights, one that has waited more than twice its interval', async () => {
    write('query,weight,every\nheavy,5,\nlight,1,2d\nlighter,1,4d\n')
    await table.tickAt(due(1).replace('02:00', '01:00'), schedule())
    await night(1)
    await table.tickAt(due(6), schedule({ missed: 'latest' }))
    const run = (await table.runs()).at(-1)?.id ?? 0
    expect(await orderOf(run)).toEqual(['light', 'heavy', 'lighter'])
  })
})
