import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { overdueNights } from '../../../src/core/nights/nights.ts'
import {
  type NightSummary,
  nightSummaryLines,
  summariseNights,
} from '../../../src/core/scheduler/show.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

const quiet: NightSummary = {
  schedule: 'brands',
  zone: 'Europe/Berlin',
  last: null,
  next: new Date('2026-10-05T01:00:00Z'),
  overdue: [],
}

test('a schedule is one line, in its own time zone', () => {
  expect(nightSummaryLines([quiet])).toEqual([
    'nightly brands: last none yet; next 2026-10-05 03:00 Europe/Berlin',
  ])
  expect(nightSummaryLines([{ ...quiet, next: null }])).toEqual([
    'nightly brands: last none yet; next never',
  ])
})

test('the last night shows its outcome and the progress of its run', () => {
  const last = {
    schedule: 'brands',
    due_at: new Date('2026-10-04T01:00:00Z'),
    run_date: '2026-10-04',
    outcome: 'late',
    note: 'the scheduler was away',
    run: 7,
    run_state: 'open',
    tasks: 60,
    open: 15,
  }
  expect(nightSummaryLines([{ ...quiet, last }])[0]).toContain(
    'last 2026-10-04 03:00 late, run 7 open, 45 of 60 tasks done (the scheduler was away); next',
  )
  const waiting = { ...last, outcome: null, note: null, run: null }
  expect(nightSummaryLines([{ ...quiet, last: waiting }])[0]).toContain('03:00 waiting; next')
})

test('an overdue night has a separate line below its schedule', () => {
  const overdue = [
    {
      schedule: 'brands',
      dueAt: new Date('2026-10-04T01:00:00Z'),
      problem: 'no outcome was recorded',
    },
  ]
  expect(nightSummaryLines([{ ...quiet, overdue }, quiet])).toEqual([
    expect.stringContaining('nightly brands'),
    '  OVERDUE 2026-10-04 03:00: no outcome was recorded',
    expect.stringContaining('nightly brands'),
  ])
})

let database: FreshDatabase

describe('schedules in the tables', () => {
  beforeEach(async () => {
    database = await freshDatabase()
    await sql`
    insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
    select
      name, 'words', cron, 'UTC', 'latest', 'skip', enabled,
      now() - interval '3 hours', now() - interval '3 hours'
    from (
      values
        ('hourly', '0 * * * *', true),
        ('off', '0 * * * *', false),
        ('unreadable', 'whenever', true)
    ) as kept (name, cron, enabled)`.execute(database.db)
  })

  afterEach(() => database.close())

  test('are overdue if they are on and no outcome was recorded for hours', async () => {
    const overdue = await overdueNights(database.db)
    expect(overdue.map(({ schedule }) => schedule)).toEqual(['hourly'])
    expect(overdue[0]?.problem).toContain('check that the scheduler is running')
  })

  test('are summarized with their next time, except those with an invalid pattern', async () => {
    const [hourly, unreadable, ...rest] = await summariseNights(database.db)
    expect(rest).toEqual([])
    expect(hourly).toMatchObject({ schedule: 'hourly', zone: 'UTC', last: null })
    const next = hourly?.next?.getTime() ?? 0
    expect(next).toBeGreaterThan(Date.now())
    expect(next).toBeLessThanOrEqual(Date.now() + 3_600_000)
    expect(hourly?.overdue).toHaveLength(1)
    expect(unreadable).toMatchObject({ schedule: 'unreadable', next: null, overdue: [] })
  })
})
