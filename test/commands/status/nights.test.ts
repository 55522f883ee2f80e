import { expect, test } from 'vitest'
import { nightSummaryLines, type NightSummary } from '../../../src/commands/status/nights.ts'

const quiet: NightSummary = {
  schedule: 'brands',
  zone: 'Europe/Berlin',
  last: null,
  next: new Date('2026-10-05T01:00:00Z'),
  overdue: [],
}

test('a schedule is one line, in the hours of its own zone', () => {
  expect(nightSummaryLines([quiet])).toEqual([
    'nightly brands: last none yet; next 2026-10-05 03:00 Europe/Berlin',
  ])
  expect(nightSummaryLines([{ ...quiet, next: null }])).toEqual([
    'nightly brands: last none yet; next never',
  ])
})

test('the last night says what became of it and how far its run is', () => {
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

test('an overdue night has a line of its own below its schedule', () => {
  const overdue = [
    { schedule: 'brands', dueAt: new Date('2026-10-04T01:00:00Z'), problem: 'nobody decided' },
  ]
  expect(nightSummaryLines([{ ...quiet, overdue }, quiet])).toEqual([
    expect.stringContaining('nightly brands'),
    '  OVERDUE 2026-10-04 03:00: nobody decided',
    expect.stringContaining('nightly brands'),
  ])
})
