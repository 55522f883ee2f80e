import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { askSparingly, openMetrics } from '../../../src/commands/monitor/metrics.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'

let database: FreshDatabase

describe('metrics', () => {
  beforeEach(async () => {
    database = await freshDatabase()
  })

  afterEach(() => database.close())

  test('tell balance, stops, successes, tasks and request times, and no query text', async () => {
    await sql`
      with list as (
        insert into lists (name, source) values ('words', 'words.csv') returning id
      ),
      run as (
        insert into runs (list_id, run_date, kind, state, spent, finished_at)
        select id, '2026-10-03', 'nightly', 'done', 42, now() from list
      ),
      account as (
        insert into accounts (name, kind, obs_remaining, used_total)
        values ('api.example.com', 'live', 103, 42)
        returning id
      )
      insert into stops (account_id, reason)
      select id, 'credit_floor' from account`.execute(database.db)
    const metrics = openMetrics({
      db: database.db,
      supplier: { origin: 'live', api: 'api.example.com', account: 'api.example.com' },
      counted: () => ({ answered: 5, reused: 1, failed: 0, unknown: 0 }),
      more: async () => 'bullmq_jobs 0',
    })
    metrics.observe(0.3)
    await metrics.text()
    const lines = (await metrics.text()).split('\n')
    expect(lines).toContain('querymill_credits_remaining 103')
    expect(lines).toContain('querymill_credits_used_total 42')
    expect(lines).toContain('querymill_account_stopped{reason="credit_floor"} 1')
    expect(lines).toContain('querymill_tasks_total{state="answered"} 5')
    expect(lines).toContain('querymill_api_request_duration_seconds_count 1')
    expect(lines).toContainEqual(
      expect.stringMatching(/^querymill_last_success_timestamp_seconds\{list="words"\} 1\d{9}/),
    )
    expect(lines).toContain('bullmq_jobs 0')
  })

  test('stay readable while the queue is away', async () => {
    const metrics = openMetrics({
      db: database.db,
      supplier: { origin: 'live', api: 'api.example.com', account: 'api.example.com' },
      more: () => Promise.reject(new Error('away')),
    })
    expect(await metrics.text()).toContain('querymill_tasks_open 0')
  })
})

/** Takes a second of a clock that only it moves, and gives 1, 2, 3 and so on. */
function slowCount() {
  const clock = { ms: 0 }
  let asked = 0
  const count = askSparingly(
    async () => {
      clock.ms += 1000
      return ++asked
    },
    () => clock.ms,
  )
  return { clock, count }
}

test('a count that took a second is taken again after twenty seconds, not before', async () => {
  const { clock, count } = slowCount()
  expect(await count()).toBe(1)
  clock.ms += 19_999
  expect(await count()).toBe(1)
  clock.ms += 1
  expect(await count()).toBe(2)
})

test('a count that failed is tried again at once', async () => {
  let tries = 0
  const count = askSparingly(async () => {
    tries += 1
    if (tries === 1) throw new Error('gone')
    return tries
  })
  await expect(count()).rejects.toThrow('gone')
  expect(await count()).toBe(2)
})
