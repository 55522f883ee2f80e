// @module-tag slow
import { writeFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { lastLook } from '../../../src/core/nights/nights.ts'
import type { Schedule } from '../../../src/core/scheduler/schedule.ts'
import { type NightTable, openNights } from '../../support/nights.ts'
import { scheduleOf as anySchedule } from './world.ts'

let table: NightTable

beforeEach(async () => {
  table = await openNights()
})

afterEach(() => table.close())

function scheduleOf(changes: Partial<Schedule> & { pattern?: string } = {}): Schedule {
  return anySchedule({ name: 'words', list: table.file, zone: 'Europe/Berlin', ...changes })
}

describe('after a period without a scheduler', () => {
  const away = '2026-10-05T10:00:00Z'

  async function comeBack(missed: Schedule['missed']): Promise<void> {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf({ missed }))
    await table.tickAt(away, scheduleOf({ missed }))
  }

  test('the latest night runs late, and earlier ones are missed', async () => {
    await comeBack('latest')
    const found = await table.nights()
    expect(found.map(({ date, outcome }) => [date, outcome])).toEqual([
      ['2026-10-03', 'missed'],
      ['2026-10-04', 'missed'],
      ['2026-10-05', 'late'],
    ])
    expect(await table.runs()).toHaveLength(1)
  })

  test('all nights run one after the other, each under its own date', async () => {
    await comeBack('all')
    for (let night = 0; night < 3; night++) {
      expect((await table.runs()).filter(({ state }) => state === 'open')).toHaveLength(1)
      await table.answerAll()
      await table.tickAt(away, scheduleOf({ missed: 'all' }))
    }
    expect((await table.runs()).map(({ date }) => date)).toEqual([
      '2026-10-03',
      '2026-10-04',
      '2026-10-05',
    ])
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual(['late', 'late', 'late'])
  })

  test('no night runs if missed ones are skipped', async () => {
    await comeBack('skip')
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual([
      'missed',
      'missed',
      'missed',
    ])
    expect(await table.runs()).toEqual([])
  })

  test('due times of a pattern that was changed in the meantime are missed, and the new pattern starts now', async () => {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await table.tickAt(away, scheduleOf({ pattern: '0 3 * * *' }))
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual([
      'missed',
      'missed',
      'missed',
    ])
    await table.tickAt('2026-10-06T01:00:10Z', scheduleOf({ pattern: '0 3 * * *' }))
    expect((await table.nights()).at(-1)).toMatchObject({ date: '2026-10-06', outcome: 'ran' })
  })

  test('a schedule that was off starts again when it is turned on', async () => {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await table.tickAt('2026-10-02T13:00:00Z', scheduleOf({ on: false }))
    await table.tickAt(away, scheduleOf())
    expect(await table.nights()).toEqual([])
  })

  test.each([
    ['turned off', () => [scheduleOf({ on: false })]],
    ['removed from the file', () => []],
  ])(
    'nights due before a schedule was %s are missed, are reported, and stay so when it is on again',
    async (what, fileNow) => {
      await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
      await table.tickAt('2026-10-04T01:00:00Z', ...fileNow())
      await table.tickAt(away, scheduleOf())
      const note = `the schedule was ${what} before a scheduler could start the night`
      const missed = { schedule: 'words', outcome: 'missed', run: null, note }
      expect(await table.nights()).toEqual([
        { ...missed, date: '2026-10-03' },
        { ...missed, date: '2026-10-04' },
      ])
      expect(table.told).toEqual([
        `words, due 2026-10-03 02:00 to 2026-10-04 02:00 (2 times) Europe/Berlin, missed: ${note}`,
      ])
      expect(await table.runs()).toEqual([])
    },
  )

  test('a night that ran keeps its outcome when its schedule is turned off', async () => {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
    // As if the scheduler had ended between the two statements.
    await sql`update schedules set known_until = '2026-10-02T12:00:00Z'`.execute(table.db)
    await table.tickAt('2026-10-03T00:01:20Z', scheduleOf({ on: false }))
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual(['ran'])
    expect(table.told.filter((line) => line.includes('missed'))).toEqual([])
  })
})

describe('a wrong clock', () => {
  const before = '2026-10-02T12:00:00Z'

  test('a year ahead does not prevent the nights of that year, and is reported once', async () => {
    await table.tickAt(before, scheduleOf())
    await table.tickAt('2027-10-02T12:00:00Z', scheduleOf())
    await table.answerAll()
    await table.tickAt('2026-10-02T12:01:00Z', scheduleOf())
    await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
    const found = await table.nights()
    expect(found.map(({ date, outcome }) => [date, outcome])).toEqual([
      ['2026-10-03', 'ran'],
      ['2027-10-02', 'late'],
    ])
    expect(table.told.filter((line) => line.includes('later than'))).toEqual([
      "nights of words had already been decided up to 2027-10-02 14:00 Europe/Berlin, which is later than the database's current time; the schedule continues from the current time",
    ])
  })

  test('does not disable a schedule that was off in the meantime', async () => {
    await table.tickAt(before, scheduleOf())
    await table.tickAt('2027-10-02T12:00:00Z', scheduleOf({ on: false }))
    await table.tickAt('2026-10-02T12:01:00Z', scheduleOf())
    await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual(['ran'])
  })

  test('leaves no check in the future that would look like a running scheduler', async () => {
    await table.tickAt(before, scheduleOf())
    expect(await lastLook(table.db)).toBeGreaterThanOrEqual(0)
    await sql`update schedules set seen_at = now() + interval '1 day'`.execute(table.db)
    expect(await lastLook(table.db)).toBeNull()
  })

  test('by less than a minute changes nothing', async () => {
    await table.tickAt(before, scheduleOf())
    await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
    await table.tickAt('2026-10-02T23:59:40Z', scheduleOf())
    await table.tickAt('2026-10-03T00:00:30Z', scheduleOf())
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual(['ran'])
    expect(table.told.filter((line) => line.includes('later than'))).toEqual([])
  })
})

describe('an overlap', () => {
  async function twoNights(overlap: Schedule['overlap']): Promise<Schedule> {
    const schedule = scheduleOf({ overlap })
    await table.tickAt('2026-10-02T12:00:00Z', schedule)
    await table.tickAt('2026-10-03T00:00:20Z', schedule)
    writeFileSync(table.file, 'query\nred shoes\ngreen shoes\n')
    await table.tickAt('2026-10-04T00:00:20Z', schedule)
    return schedule
  }

  test('skips the night and names the run in progress', async () => {
    await twoNights('skip')
    const [first, second] = await table.nights()
    expect(second?.outcome).toBe('skipped')
    expect(second?.note).toContain(`run ${first?.run} of 2026-10-03 was still in progress`)
    expect(await table.runs()).toHaveLength(1)
  })

  test('delays the night until the run is done, then runs it under its own date', async () => {
    const schedule = await twoNights('queue')
    expect((await table.nights()).at(-1)).toMatchObject({ outcome: null, run: null })
    await table.answerAll()
    await table.tickAt('2026-10-04T03:00:00Z', schedule)
    expect((await table.nights()).at(-1)).toMatchObject({ date: '2026-10-04', outcome: 'late' })
    expect((await table.runs()).at(-1)).toMatchObject({ date: '2026-10-04', state: 'open' })
  })

  test('joins the open run and adds what it lacks', async () => {
    await twoNights('merge')
    const [first, second] = await table.nights()
    expect(second).toMatchObject({ outcome: 'ran', run: first?.run })
    expect(await table.queriesOf(first?.run)).toEqual(['blue shoes', 'green shoes', 'red shoes'])
    expect(await table.runs()).toHaveLength(1)
  })
})

describe('a night cut short by lack of credits', () => {
  async function nextNight(missed: Schedule['missed']): Promise<Schedule> {
    const schedule = scheduleOf({ missed })
    await table.tickAt('2026-10-02T12:00:00Z', schedule)
    await table.tickAt('2026-10-03T00:00:20Z', schedule)
    await table.creditRunsOut()
    await table.tickAt('2026-10-04T00:00:20Z', schedule)
    return schedule
  }

  test('is closed as partial by the next one if only the latest counts', async () => {
    await nextNight('latest')
    expect((await table.runs()).map(({ date, state }) => [date, state])).toEqual([
      ['2026-10-03', 'cancelled'],
      ['2026-10-04', 'open'],
    ])
    const [first, second] = await table.nights()
    expect(first).toMatchObject({ outcome: 'ran' })
    expect(first?.note).toContain('closed as partial with 0 of 2 tasks done')
    expect(second).toMatchObject({ outcome: 'ran', note: null })
  })

  test('is finished under its own date before the next one if all count', async () => {
    const schedule = await nextNight('all')
    expect((await table.nights()).at(-1)).toMatchObject({ outcome: null })
    expect(await table.runs()).toMatchObject([{ date: '2026-10-03', state: 'open' }])
    await table.answerAll()
    await table.tickAt('2026-10-04T08:00:00Z', schedule)
    expect((await table.runs()).map(({ date }) => date)).toEqual(['2026-10-03', '2026-10-04'])
  })
})
