import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { type Line, placeOf, readSchedules } from '../../../src/core/scheduler/schedule.ts'

const good = {
  schedule: 'nightly',
  list: 'inputs/keywords.csv',
  cron: '0 2 * * *',
  zone: 'Europe/Berlin',
  max_age: '12h',
  budget: '500',
  priority: '3',
  missed: 'all',
  overlap: 'queue',
  on: 'yes',
}

function linesOf(...changes: Readonly<Record<string, string>>[]): Line[] {
  return changes.map((change, index) => ({
    line: index + 2,
    fields: new Map(Object.entries({ ...good, schedule: `night ${index}`, ...change })),
  }))
}

function read(...changes: Readonly<Record<string, string>>[]) {
  return readSchedules(linesOf(...changes), {
    zone: 'Asia/Tokyo',
    lookUpList: (list) => ({ ...placeOf(list), problem: null }),
  })
}

describe('a line of the schedule file', () => {
  test('becomes a schedule with all of its values', () => {
    const { schedules, refusals } = read({})
    expect(refusals).toEqual([])
    expect(schedules).toMatchObject([
      {
        name: 'night 0',
        line: 2,
        list: 'inputs/keywords.csv',
        path: join(root, 'inputs', 'keywords.csv'),
        listName: 'keywords',
        cron: { pattern: '0 2 * * *' },
        zone: 'Europe/Berlin',
        maxAgeMs: 43_200_000,
        budget: 500,
        priority: 3,
        missed: 'all',
        overlap: 'queue',
        on: true,
        reading: {},
      },
    ])
  })

  test('with empty fields gets the defaults', () => {
    const empty = { zone: '', max_age: '', budget: '', priority: '', missed: '', overlap: '' }
    expect(read(empty).schedules).toMatchObject([
      { zone: 'Asia/Tokyo', maxAgeMs: null, budget: null, missed: 'latest', overlap: 'skip' },
    ])
  })

  test.each([
    ['cron', '0 2 * *', 'five cron fields'],
    ['cron', '0 0 2 * * *', 'five cron fields'],
    ['zone', 'Mars/Base', 'a time zone like Europe/Berlin'],
    ['max_age', 'often', 'a duration like 12h'],
    ['budget', '0', 'a whole number of at least 1'],
    ['budget', '1.5', 'a whole number of at least 1'],
    ['priority', '10', 'from 1 to 9'],
    ['missed', 'some', '"latest", "all", "skip"'],
    ['overlap', 'wait', '"skip", "queue", "merge"'],
    ['on', 'maybe', '"yes" or "no"'],
    ['on', '', '"yes" or "no"'],
    ['cadence', 'weekly', '"adaptive 14d"'],
    ['cadence', 'daily 3d', '"adaptive 14d"'],
    ['cadence', 'adaptive 1d', 'from 2d to 365d'],
    ['cadence', 'adaptive 14 d', '"adaptive 14d"'],
    ['cadence', 'adaptive 14d lend', '"adaptive 14d"'],
    ['cadence', 'adaptive lend', '"adaptive 14d"'],
    ['schedule', '', 'a short name'],
    ['schedule', 'two\nlines', 'a short name'],
    ['list', '', 'the path to a list'],
  ])(
    'with %s %j is rejected with its number and the expected value, and the others continue',
    (...given) => {
      const [column, value, expected] = given
      const { schedules, refusals } = read({}, { [column]: value }, {})
      expect(refusals.map(({ line }) => line)).toEqual([3])
      expect(refusals[0]?.problem).toContain(expected)
      expect(schedules.map(({ line }) => line)).toEqual([2, 4])
    },
  )

  test.each([
    ['', 1],
    ['daily', 1],
    ['adaptive', 14],
    ['Adaptive 30d', 30],
  ])('with the cadence %j buys each query at least every %i days', (cadence, expected) => {
    expect(read({ cadence }).schedules).toMatchObject([{ longestDays: expected }])
  })

  test('with several errors is rejected with all of them', () => {
    const { refusals } = read({ zone: 'x', on: 'x' })
    expect(refusals.map(({ problem }) => problem.split(':')[0])).toEqual(['zone', 'on'])
  })

  test('with the name of an earlier line is rejected, and the earlier one keeps it', () => {
    const { schedules, refusals } = read({ schedule: 'twin' }, { schedule: 'twin' })
    expect(schedules.map(({ line }) => line)).toEqual([2])
    expect(refusals).toMatchObject([{ line: 3 }])
    expect(refusals[0]?.problem).toContain('line 2')
  })

  test('with a missing list is rejected with the reason', () => {
    const { schedules, refusals } = readSchedules(linesOf({}), {
      zone: 'UTC',
      lookUpList: (list) => ({ ...placeOf(list), problem: `nothing at ${list}` }),
    })
    expect(schedules).toEqual([])
    expect(refusals).toEqual([{ line: 2, problem: 'list: nothing at inputs/keywords.csv' }])
  })

  test('in a file with a misspelt column is read, and the column is named', () => {
    const { schedules, refusals } = read({ overlaps: 'queue' })
    expect(schedules).toHaveLength(1)
    expect(refusals).toMatchObject([{ line: 1 }])
    expect(refusals[0]?.problem).toContain('got overlaps as well')
  })
})
