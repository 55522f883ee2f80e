import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openMetrics } from '../../../src/features/notifications/metrics.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
const supplier = { origin: 'live', api: 'api.example.com', account: 'api.example.com' } as const

describe('metrics', () => {
  beforeEach(async () => {
    database = await freshDatabase()
  })

  afterEach(() => database.close())

  test('contain balance, stops, successes, tasks and request times, and no query text', async () => {
    await sql`
      with list as (
        insert into lists (name, source) values ('words', 'words.csv') returning id
      ),
      run as (
        insert into runs (list_id, run_date, kind, state, spent, finished_at)
        select id, '2026-10-03', 'nightly', 'done', 42, now() from list
        returning id
      ),
      account as (
        insert into accounts (name, kind, obs_remaining, used_total)
        values ('api.example.com', 'live', 103, 42)
        returning id
      ),
      answer as (
        insert into searches (id, call_id, task_id, query_id, fetched_at, origin, api)
        values (1, 1, 1, gen_random_uuid(), now(), 'live', 'api.example.com')
        returning id
      ),
      task as (
        insert into tasks (run_id, query_id, slice, state, search_id)
        select run.id, gen_random_uuid(), 0, 'answered', answer.id from run, answer
      )
      insert into stops (account_id, reason)
      select id, 'credit_floor' from account`.execute(database.db)
    const metrics = openMetrics({
      db: database.db,
      supplier,
      floor: 100,
      counted: () => ({ answered: 5, reused: 1, failed: 0, unknown: 0 }),
      more: async () => 'bullmq_jobs 0',
    })
    metrics.observe(0.3)
    await metrics.text()
    const lines = (await metrics.text()).split('\n')
    expect(lines).toContain('querymill_credits_remaining 103')
    expect(lines).toContain('querymill_credits_above_floor 3')
    expect(lines).toContain('querymill_credits_used_total 42')
    expect(lines).toContain('querymill_account_stopped{reason="credit_floor"} 1')
    expect(lines).toContain('querymill_tasks_total{state="answered"} 5')
    expect(lines).toContain('querymill_api_request_duration_seconds_count 1')
    expect(lines).toContainEqual(
      expect.stringMatching(/^querymill_last_success_timestamp_seconds\{list="words"\} 1\d{9}/),
    )
    expect(lines).toContain('bullmq_jobs 0')
  })

  test('contain the stored forecast, and the number of suspect runs and whether the newest is suspect', async () => {
    const lines = async () => {
      const text = await openMetrics({ db: database.db, supplier, floor: 100 }).text()
      return text
        .split('\n')
        .filter((line) => /^querymill_(forecast|nights_suspect|last_night)/.test(line))
    }
    expect(await lines()).toEqual([])
    await sql`
      with account as (
        insert into accounts (name, kind) values ('api.example.com', 'live') returning id
      ),
      list as (
        insert into lists (name, source) values ('words', 'words.csv') returning id
      ),
      run as (
        insert into runs (list_id, run_date, kind, state, finished_at, suspect)
        select list.id, date '2026-10-01' + n, 'nightly', 'done', now() - (5 - n) * interval '2 days', n in (1, 3)
        from list, generate_series(0, 4) n
      )
      insert into forecasts (account_id, asked_at, made_at, day_credits, floor_at)
      select id, now(), to_timestamp(1700000000), 1460, now() + interval '36 hours'
      from account`.execute(database.db)
    const told = await lines()
    expect(told).toContain('querymill_forecast_day_credits 1460')
    expect(told).toContain('querymill_forecast_timestamp_seconds 1700000000')
    expect(told).toContain('querymill_nights_suspect{list="words"} 1')
    expect(told).toContain('querymill_last_night_suspect{list="words"} 0')
    const days = told.find((line) => line.startsWith('querymill_forecast_days_to_floor'))
    expect(Number(days?.split(' ')[1])).toBeCloseTo(1.5, 2)
    await sql`update runs set suspect = true where run_date = '2026-10-05'`.execute(database.db)
    await sql`update forecasts set floor_at = null`.execute(database.db)
    const later = await lines()
    expect(later).toContain('querymill_last_night_suspect{list="words"} 1')
    expect(later.join(' ')).not.toContain('days_to_floor')
  })

  test('are available while the queue is unreachable', async () => {
    const metrics = openMetrics({
      db: database.db,
      supplier,
      floor: 100,
      more: () => Promise.reject(new Error('away')),
    })
    expect(await metrics.text()).toContain('querymill_tasks_open 0')
  })

  test('omit an unknown balance', async () => {
    const metrics = openMetrics({ db: database.db, supplier, floor: 100 })
    const text = await metrics.text()
    expect(text).not.toMatch(/^querymill_credits_(remaining|above_floor) /m)
  })

  test('show open tasks as unattended while no worker is alive', async () => {
    await sql`
      with list as (
        insert into lists (name, source) values ('words', 'words.csv') returning id
      ),
      run as (
        insert into runs (list_id, run_date, kind, state)
        select id, '2026-10-03', 'nightly', 'open' from list
        returning id
      ),
      slice as (insert into slices (run_id, slice, priority) select id, 0, 5 from run)
      insert into tasks (run_id, query_id, slice)
      select id, gen_random_uuid(), 0 from run, generate_series(1, 3)`.execute(database.db)
    const figures = async () => {
      const text = await openMetrics({ db: database.db, supplier, floor: 100 }).text()
      return text.split('\n').filter((line) => /^querymill_(workers|tasks_\w+) /.test(line))
    }
    expect(await figures()).toEqual([
      'querymill_tasks_open 3',
      'querymill_workers 0',
      'querymill_tasks_unattended 3',
    ])
    await sql`
      with account as (insert into accounts (name, kind) values ('a', 'live') returning id)
      insert into workers (account_id, host, pid, floor, concurrency, lease_until)
      select id, 'h', 1, 0, 1, now() + interval '1 minute' from account`.execute(database.db)
    expect(await figures()).toEqual([
      'querymill_tasks_open 3',
      'querymill_workers 1',
      'querymill_tasks_unattended 0',
    ])
  })

  test('count no run as a success, and no night as a good one, without a readable answer', async () => {
    await sql`
      with list as (
        insert into lists (name, source) values ('words', 'words.csv') returning id
      ),
      schedule as (
        insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
        select name, 'words', '0 2 * * *', 'UTC', 'latest', 'skip', true, now(), now()
        from unnest(array['nightly', 'weekly']) as name
      ),
      run as (
        insert into runs (list_id, run_date, kind, state, finished_at)
        select list.id, '2026-10-03', 'nightly', 'done', to_timestamp(1000 * night)
        from list, generate_series(1, 3) as night
        returning id, extract(epoch from finished_at) / 1000 as night
      ),
      night as (
        insert into nights (schedule, due_at, run_date, outcome, run_id)
        select 'nightly', to_timestamp(1000 * night - 500), '2026-10-03', 'ran', id from run
      ),
      answer as (
        insert into searches (id, call_id, task_id, query_id, fetched_at, origin, api, parse_error)
        select night, night, night, gen_random_uuid(), now(), 'live', 'a', case night when 2 then 'HTML' end
        from run
        where night < 3
      )
      insert into tasks (run_id, query_id, slice, state, search_id)
      select id, gen_random_uuid(), 0, case when night < 3 then 'answered' else 'failed' end,
        case when night < 3 then night end
      from run`.execute(database.db)
    const text = await openMetrics({ db: database.db, supplier, floor: 100 }).text()
    expect(text).toContain('querymill_last_success_timestamp_seconds{list="words"} 1000\n')
    expect(text).toContain('querymill_last_good_night_timestamp_seconds{schedule="nightly"} 500\n')
    expect(text).toContain('querymill_nights_since_good{schedule="nightly"} 2\n')
    expect(text).toContain('querymill_nights_since_good{schedule="weekly"} 0\n')
    expect(text).not.toMatch(/^querymill_last_good_night_\w+{schedule="weekly"}/m)
  })
})
