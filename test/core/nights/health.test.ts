import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readNight, readRunAnswers } from '../../../src/core/nights/health.ts'
import { Story } from '../../features/analysis/story.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

interface Stop {
  readonly account?: string
  readonly reason?: string
  readonly from: string
  readonly until?: string
  readonly cleared?: string
}

interface Night {
  /** Start times of calls, by the paying account; each call takes a minute. */
  readonly calls: Readonly<Record<string, readonly string[]>>
  readonly stops?: readonly Stop[]
  readonly opened?: string
}

const instant = (time: string | undefined) => (time === undefined ? null : `2026-01-02 ${time}Z`)
let made = 0

/** Paused minutes of a run from 02:00 to 10:00. */
async function pausedMinutes({ calls, stops = [], opened }: Night): Promise<number> {
  made += 1
  const { db } = database
  const { rows } = await sql<{ run: number; task: number }>`
    with list as (
      insert into lists (name, source) values (${`list ${made}`}, 'a.csv') returning id
    ),
    run as (
      insert into runs (list_id, run_date, kind, state, created_at, finished_at, opened_at, max_age_ms)
      select id, '2026-01-02', 'nightly', 'done', ${instant('02:00')}, ${instant('10:00')},
        ${instant(opened)}::timestamptz, 0
      from list
      returning id
    )
    insert into tasks (run_id, query_id, slice, state)
    select id, gen_random_uuid(), 0, 'answered' from run
    returning run_id as run, id as task`.execute(db)
  const [{ run, task } = { run: 0, task: 0 }] = rows
  const accounts = new Map<string, number>()
  for (const name of new Set([
    ...Object.keys(calls),
    ...stops.map((stop) => stop.account ?? 'a'),
  ])) {
    const { rows: one } = await sql<{ id: number }>`
      insert into accounts (name, kind) values (${`${name} ${made}`}, 'live') returning id`.execute(
      db,
    )
    accounts.set(name, one[0]?.id ?? 0)
  }
  for (const [account, times] of Object.entries(calls)) {
    for (const time of times) {
      await sql`
        insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total,
          credits_reserved, outcome, class)
        values (${task}, gen_random_uuid(), ${accounts.get(account)}, 1, ${instant(time)},
          ${instant(time)}::timestamptz + interval '1 minute', 0, 0, 1, 'settled', '10 ')`.execute(
        db,
      )
    }
  }
  for (const { account = 'a', reason = 'credit_floor', from, until, cleared } of stops) {
    await sql`
      insert into stops (account_id, reason, since, until, cleared_at)
      values (${accounts.get(account)}, ${reason}, ${instant(from)}, ${instant(until)}, ${instant(cleared)})`.execute(
      db,
    )
  }
  return (await readNight(db, run)).paused_minutes
}

const calls = { a: ['02:00', '09:59'] }

describe('the paused time of a run', () => {
  test.each<[string, number, Night]>([
    ['is none without a stop', 0, { calls }],
    ['is that of a stop within it', 390, { calls, stops: [{ from: '02:30', cleared: '09:00' }] }],
    [
      'is counted once where stops overlap',
      150,
      {
        calls,
        stops: [
          { from: '03:00', cleared: '05:00' },
          { from: '04:00', cleared: '05:30', reason: 'budget' },
          { from: '04:10', cleared: '04:20', reason: 'auth' },
        ],
      },
    ],
    [
      'begins with the run where the stop began before it',
      60,
      { calls: { a: ['03:00', '09:59'] }, stops: [{ from: '00:30', cleared: '03:00' }] },
    ],
    ['ends with the run where the stop still stands', 30, { calls, stops: [{ from: '09:30' }] }],
    [
      'ends when the stop ends by itself, though nobody lifted it until later',
      10,
      { calls, stops: [{ from: '03:00', until: '03:10', cleared: '07:00', reason: 'rate' }] },
    ],
    [
      'is none where an account stood that bought nothing of it',
      0,
      { calls, stops: [{ account: 'other', from: '02:30', cleared: '09:00' }] },
    ],
    [
      'is none where another account went on meanwhile',
      0,
      { calls: { ...calls, b: ['02:00', '09:59'] }, stops: [{ from: '02:30', cleared: '09:00' }] },
    ],
    [
      'is what was common to the stops of two accounts',
      60,
      {
        calls: { ...calls, b: ['02:00', '09:59'] },
        stops: [
          { from: '03:00', cleared: '05:00' },
          { account: 'b', from: '04:00', cleared: '06:00' },
        ],
      },
    ],
    [
      'ends when another account takes over from one that never goes on',
      390,
      { calls: { a: ['02:00', '02:30'], b: ['09:00', '09:59'] }, stops: [{ from: '02:30' }] },
    ],
    [
      'is also that from its end to its being opened again',
      239,
      { calls: { a: ['02:00', '05:00', '09:00'] }, opened: '09:00' },
    ],
  ])('%s: %d minutes', async (_, minutes, night) => {
    expect(await pausedMinutes(night)).toBeCloseTo(minutes, 3)
  })
})

describe('the answers of a run', () => {
  test('are read up to a limit, so that a run of any size fits into memory', async () => {
    const story = new Story(database.pool)
    const results = ['a.com/', 'b.com/']
    await story.night('2026-02-01', { socks: results, boots: results, shoes: results })
    const { rows } = await sql<{ id: number; run_date: string; searches: number[] }>`
      select runs.id, runs.run_date, array_agg(tasks.search_id::integer order by tasks.query_id) as searches
      from runs
      join tasks on tasks.run_id = runs.id
      where runs.run_date = '2026-02-01'
      group by runs.id`.execute(database.db)
    const [run = { id: 0, run_date: '', searches: [] }] = rows
    const read = async (limit?: number) =>
      (await readRunAnswers(database.db, run, limit)).map(({ search_id: id }) => id)
    expect(await read()).toEqual(run.searches)
    expect(run.searches).toHaveLength(3)
    expect(await read(2)).toEqual(run.searches.slice(0, 2))
  })
})
