import { describe, expect, test } from 'vitest'
import { dueBetween, nextAfter, nextDues, readCron } from '../../../src/base/time/cron.ts'
import { cronOf } from '../../core/scheduler/world.ts'

function times(pattern: string, zone: string, ends: readonly [string, string]): string[] {
  const span = { after: new Date(ends[0]), until: new Date(ends[1]) }
  return dueBetween(cronOf(pattern), zone, span).map(
    ({ at, date }) => `${at.toISOString().slice(0, 16)} for ${date}`,
  )
}

describe('a cron pattern', () => {
  test('is described in words', () => {
    expect(cronOf('30 2 * * 1-5').sentence).toBe('At 02:30, Monday through Friday')
  })

  test('allows blanks around and between its fields', () => {
    expect(cronOf(' 0  3 * *\t* ').pattern).toBe('0 3 * * *')
  })

  test.each([
    ['', '(0)'],
    ['0 3 * *', '(4)'],
    ['0 0 3 * * *', '(6)'],
    ['@daily', '(1)'],
  ])('%j is refused for its number of fields, with an example', (text, count) => {
    const reading = readCron(text)
    expect(reading).toMatchObject({ kind: 'problem' })
    expect(JSON.stringify(reading)).toContain(count)
    expect(JSON.stringify(reading)).toContain('0 3 * * *')
  })

  test.each(['61 * * * *', '* 24 * * *', 'H 3 * * *', '? 3 * * *', '0 3 31 2 *', 'a b c d e'])(
    '%j is refused because no clock ever shows it, or programs interpret it differently',
    (text) => {
      expect(readCron(text).kind).toBe('problem')
    },
  )

  test('with a step as long as its field is refused, because it would be due only once', () => {
    expect(readCron('*/90 * * * *').kind).toBe('problem')
    expect(readCron('*/45 * * * *').kind).toBe('cron')
  })
})

describe('a time of day', () => {
  test('that a clock change skips is due later by the size of the jump', () => {
    expect(
      times('30 2 * * *', 'Europe/Berlin', ['2026-03-28T12:00Z', '2026-03-30T12:00Z']),
    ).toEqual(['2026-03-29T01:30 for 2026-03-29', '2026-03-30T00:30 for 2026-03-30'])
  })

  test('that occurs twice is due only the first time', () => {
    expect(
      times('30 2 * * *', 'Europe/Berlin', ['2026-10-24T12:00Z', '2026-10-26T12:00Z']),
    ).toEqual(['2026-10-25T00:30 for 2026-10-25', '2026-10-26T01:30 for 2026-10-26'])
  })

  test('at a jump of half an hour has its night, too', () => {
    expect(
      times('0 2 * * *', 'Australia/Lord_Howe', ['2026-10-02T16:00Z', '2026-10-05T00:00Z']),
    ).toEqual(['2026-10-03T15:30 for 2026-10-04', '2026-10-04T15:00 for 2026-10-05'])
  })

  test('at the end of a day that a clock change shortens counts for that day', () => {
    expect(
      times('30 23 * * *', 'America/Scoresbysund', ['2026-03-28T12:00Z', '2026-03-29T12:00Z']),
    ).toEqual(['2026-03-29T01:30 for 2026-03-28'])
  })

  test('on a date that a zone skipped is not due twice on the next', () => {
    expect(times('0 2 * * *', 'Pacific/Apia', ['2011-12-29T00:00Z', '2011-12-31T00:00Z'])).toEqual([
      '2011-12-29T12:00 for 2011-12-29',
      '2011-12-30T12:00 for 2011-12-31',
    ])
  })
})

describe('a pattern of every hour', () => {
  test('is due in both occurrences of a repeated hour', () => {
    expect(
      times('0 * * * *', 'Europe/Berlin', ['2026-10-24T23:30Z', '2026-10-25T02:30Z']),
    ).toHaveLength(3)
  })

  test('is due once when a clock skips an hour', () => {
    expect(times('0 * * * *', 'Europe/Berlin', ['2026-03-29T00:30Z', '2026-03-29T02:30Z'])).toEqual(
      ['2026-03-29T01:00 for 2026-03-29', '2026-03-29T02:00 for 2026-03-29'],
    )
  })
})

describe('the next times', () => {
  test('begin after the given moment, not at it', () => {
    const after = new Date('2026-10-01T03:00:00Z')
    expect(
      nextDues(cronOf('0 3 * * *'), 'UTC', { after, count: 2 }).map(({ date }) => date),
    ).toEqual(['2026-10-02', '2026-10-03'])
  })

  test('are found years ahead', () => {
    expect(
      nextAfter(cronOf('0 0 29 2 *'), 'UTC', new Date('2026-11-21T00:00Z'))?.toISOString(),
    ).toBe('2028-02-29T00:00:00.000Z')
  })
})
