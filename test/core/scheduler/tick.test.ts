import { rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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

describe('a night', () => {
  test('a new schedule starts now: earlier times are not made up', async () => {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    expect(await table.nights()).toEqual([])
  })

  test('a due night becomes one nightly run of its local date, with its slices queued', async () => {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
    await table.tickAt('2026-10-03T00:01:20Z', scheduleOf())
    const [run] = await table.runs()
    expect(await table.runs()).toEqual([
      { id: run?.id, date: '2026-10-03', kind: 'nightly', state: 'open' },
    ])
    expect(await table.nights()).toEqual([
      { schedule: 'words', date: '2026-10-03', outcome: 'ran', run: run?.id, note: null },
    ])
    expect(table.queued).toEqual([run?.id])
  })

  test('ten schedulers at the same moment create one run', async () => {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    const all = Array.from({ length: 10 }, () => table.tickAt('2026-10-03T00:00:20Z', scheduleOf()))
    await Promise.all(all)
    expect(await table.runs()).toHaveLength(1)
    expect(await table.nights()).toHaveLength(1)
  })

  test('two schedules of one list at the same minute never both buy: the second one overlaps', async () => {
    const two = [scheduleOf(), scheduleOf({ name: 'words again' })]
    await table.tickAt('2026-10-02T12:00:00Z', ...two)
    await Promise.all([
      table.tickAt('2026-10-03T00:00:20Z', ...two),
      table.tickAt('2026-10-03T00:00:20Z', ...two.toReversed()),
    ])
    expect(await table.runs()).toHaveLength(1)
    expect((await table.nights()).map(({ outcome }) => outcome)).toSatisfy(oneOfEach)
  })

  test('the file is read again each night: added queries are bought, removed ones are not', async () => {
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
    await table.answerAll()
    writeFileSync(table.file, 'query\nblue shoes\ngreen shoes\n')
    await table.tickAt('2026-10-04T00:00:20Z', scheduleOf())
    const [first, second] = await table.runs()
    expect(await table.queriesOf(first?.id)).toEqual(['blue shoes', 'red shoes'])
    expect(await table.queriesOf(second?.id)).toEqual(['blue shoes', 'green shoes'])
  })

  test.each([
    ['vanished', () => rmSync(table.file)],
    ['is empty', () => writeFileSync(table.file, '')],
    ['holds no text', () => writeFileSync(table.file, Buffer.from([0xff, 0xfe, 0, 0xd8, 1, 0xff]))],
  ])(
    'a list whose file %s is bought as it was last read, and the night says so',
    async (_, spoil) => {
      await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
      await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
      await table.answerAll()
      spoil()
      await table.tickAt('2026-10-04T00:00:20Z', scheduleOf())
      const [, second] = await table.runs()
      expect(await table.queriesOf(second?.id)).toEqual(['blue shoes', 'red shoes'])
      const [, night] = await table.nights()
      expect(night?.outcome).toBe('ran')
      expect(night?.note).toContain('the queries from the last successful read are used')
    },
  )

  test('a list that was never read and cannot be read fails the night, and the next night tries again', async () => {
    rmSync(table.file)
    await table.tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await table.tickAt('2026-10-03T00:00:20Z', scheduleOf())
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual(['failed'])
    expect(await table.runs()).toEqual([])
    writeFileSync(table.file, 'query\nred shoes\n')
    await table.tickAt('2026-10-04T00:00:20Z', scheduleOf())
    expect((await table.nights()).map(({ outcome }) => outcome)).toEqual(['failed', 'ran'])
  })
})

/** Whichever of the two came first. */
function oneOfEach(outcomes: readonly (string | null)[]): boolean {
  return outcomes.length === 2 && outcomes.includes('ran') && outcomes.includes('skipped')
}
