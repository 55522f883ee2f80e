// @module-tag slow
import { fc } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { divideAmongLists } from '../../../src/core/scheduler/schedule.ts'

type Given = readonly [number, string, number | null, 'off'?]

const line = (...[number, listName, part, off]: Given) => ({
  ...{ line: number, listName, part, on: off === undefined },
})

const partsOf = (...lines: ReturnType<typeof line>[]) =>
  divideAmongLists(lines).schedules.map(({ part }) => part)

describe('the shares of lists', () => {
  test('do not exist while no list has one', () => {
    expect(partsOf(line(2, 'a', null), line(3, 'b', null))).toEqual([null, null])
  })

  test('are those of the lists, and equal parts of the rest for the others', () => {
    const lines = [line(2, 'a', 0.4), line(3, 'b', null), line(4, 'c', null), line(5, 'b', null)]
    expect(partsOf(...lines)).toEqual([0.4, 0.3, 0.3, 0.3])
  })

  test('apply to every schedule of a list, whichever sets it', () => {
    expect(partsOf(line(2, 'a', null), line(3, 'a', 0.4), line(4, 'b', null))).toEqual([
      0.4, 0.4, 0.6,
    ])
  })

  test('leave nothing for others if all is assigned', () => {
    expect(partsOf(line(2, 'a', 1), line(3, 'b', null))).toEqual([1, 0])
  })

  test('ignore schedules that are off', () => {
    expect(partsOf(line(2, 'a', 0.4, 'off'), line(3, 'b', null))).toEqual([0.4, null])
    expect(partsOf(line(2, 'a', 0.4), line(3, 'b', null, 'off'), line(4, 'c', null))[2]).toBe(0.6)
  })

  test('refuse more than 100 %, and two shares of one list', () => {
    const found = divideAmongLists([
      line(2, 'a', 0.4),
      line(3, 'b', 0.7),
      line(4, 'a', 0.5),
      line(5, 'c', 0.6),
      line(6, 'a', 0.4),
    ])
    expect(found.refusals).toEqual([
      {
        line: 3,
        problem:
          'share: expected shares that add up to at most 100 % (earlier lines use 40 %), got 70 %',
      },
      {
        line: 4,
        problem: 'share: expected nothing, or 40 % as on line 2 for this list, got 50 %',
      },
    ])
    expect(found.schedules.map(({ line: number, part }) => [number, part])).toEqual([
      [2, 0.4],
      [5, 0.6],
      [6, 0.4],
    ])
  })

  test('are all of the credits, or none if no list has one', () => {
    const given = fc.array(
      fc.record({
        listName: fc.constantFrom('a', 'b', 'c', 'd'),
        part: fc.option(fc.integer({ min: 1, max: 100 }).map((percent) => percent / 100)),
        on: fc.boolean(),
      }),
    )
    const property = fc.property(given, (lines) => {
      const numbered = lines.map((one, index) => ({ ...one, line: index + 2 }))
      const { schedules, refusals } = divideAmongLists(numbered)
      expect(schedules.length + refusals.length).toBe(lines.length)
      const parts = new Map(schedules.filter(({ on }) => on).map((one) => [one.listName, one.part]))
      const known = [...parts.values()]
      if (known.every((part) => part === null)) return
      const sum = known.reduce<number>((all, part) => all + (part ?? Number.NaN), 0)
      expect(sum).toBeLessThanOrEqual(1 + 1e-9)
      // Shares may add up to less than 100 % only if each list has its own.
      const said = new Set(
        numbered.filter(({ on, part }) => on && part !== null).map((one) => one.listName),
      )
      expect(sum).toBeGreaterThan(parts.size > said.size ? 1 - 1e-9 : 0)
    })
    fc.assert(property)
  })
})
