import { describe, expect, test } from 'vitest'
import { formatNights, nightsJson, type Forecast } from '../../../src/core/scheduler/show.ts'
import { scheduleOf } from './world.ts'

const last = {
  schedule: 'nightly',
  due_at: new Date('2026-10-01T00:00:00Z'),
  run_date: '2026-10-01',
  outcome: 'late',
  note: 'joined run 3',
  run: 4,
  run_state: 'open',
  tasks: 10,
  open: 4,
} as const
const overdue = [
  {
    schedule: 'nightly',
    dueAt: new Date('2026-10-02T00:00:00Z'),
    problem: 'no outcome was recorded',
  },
]
const next = [new Date('2026-10-03T00:00:00Z')]

const forecast: Forecast = {
  schedules: [
    {
      schedule: scheduleOf({ zone: 'Europe/Berlin', budget: 500, missed: 'all', overlap: 'queue' }),
      next,
      last,
      overdue,
      lately: { ran: 6, missed: 1 },
    },
    {
      schedule: scheduleOf({ name: 'off', on: false }),
      next: [],
      last: null,
      overdue: [],
      lately: {},
    },
  ],
  refusals: [{ line: 3, problem: 'cron: expected five cron fields' }],
}

describe('schedules as text', () => {
  test('show each rule, time and outcome in words, in the zone of the schedule', () => {
    const page = formatNights(forecast)
    expect(page).toContain('nightly: At 02:00, Europe/Berlin')
    expect(page).toMatch(/rules +missed: all, overlap: queue, at most 500 credits a night$/m)
    expect(page).toMatch(/next +2026-10-03 02:00$/m)
    expect(page).toMatch(
      /last +2026-10-01 02:00 late, run 4 open, 6 of 10 tasks done \(joined run 3\)$/m,
    )
    expect(page).toMatch(/recent +6 ran, 1 missed in the last 7 days$/m)
    expect(page).toMatch(/OVERDUE +2026-10-02 02:00: no outcome was recorded$/m)
  })

  test('show the shares of a list and its labels when credits are short', () => {
    const [view] = forecast.schedules
    if (view === undefined) throw new Error('expected a schedule')
    const schedule = { ...view.schedule, part: 0.4, shares: [{ tag: 'brand', share: 0.3 }] }
    const given = { schedules: [{ ...view, schedule }], refusals: [] }
    expect(formatNights(given)).toMatch(
      /at most 500 credits a night, 40 % of the credits if they run short, shares: brand 30 %$/m,
    )
    expect(nightsJson(given).schedules[0]).toMatchObject({
      part: 0.4,
      shares: [{ tag: 'brand', share: 0.3 }],
    })
  })

  test('show that one is off, and which lines of the file are rejected', () => {
    const page = formatNights(forecast)
    expect(page).toContain('off (off): At 02:00, UTC')
    expect(page).toMatch(/next +never \(the schedule is off\)$/m)
    expect(page).toMatch(/recent +none in the last 7 days$/m)
    expect(page).toContain('line 3 was refused: cron: expected five cron fields')
    expect(formatNights({ schedules: [], refusals: [] })).toBe('No schedule can be used.')
  })
})

describe('schedules as JSON', () => {
  test('are the same, with exact times', () => {
    const { schedules, refused } = nightsJson(forecast)
    expect(schedules[0]).toMatchObject({
      schedule: 'nightly',
      cron: '0 2 * * *',
      missed: 'all',
      next,
      last: { outcome: 'late', run: 4, state: 'open', tasks: 10, open: 4 },
      lately: { ran: 6, missed: 1 },
      overdue: [{ due_at: overdue[0]?.dueAt, problem: 'no outcome was recorded' }],
    })
    expect(schedules[1]).toMatchObject({ on: false, next: [], last: null })
    expect(refused).toEqual(forecast.refusals)
  })
})
