import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { jobPriority } from '../../src/queue/slices.ts'

/** What BullMQ takes for a priority at most. */
const most = 2 ** 21 - 1

const turn = fc.option(fc.double({ min: 0, noNaN: true }))
const priority = fc.integer({ min: 1, max: 9 })

describe('the priority of a job', () => {
  test.prop([priority, turn])('is one that the queue takes', (ours, place) => {
    const given = jobPriority(ours, place)
    expect(Number.isInteger(given)).toBe(true)
    expect(given).toBeGreaterThanOrEqual(1)
    expect(given).toBeLessThanOrEqual(most)
  })

  test.prop([fc.tuple(priority, turn), fc.tuple(priority, turn)])(
    'goes by ours first, and by the turn then',
    ([ours, place], [theirs, other]) => {
      const [first, second] = [jobPriority(ours, place), jobPriority(theirs, other)]
      if (ours < theirs) expect(first).toBeLessThan(second)
      if (ours === theirs && (place ?? -1) <= (other ?? -1))
        expect(first).toBeLessThanOrEqual(second)
    },
  )

  test('tells turns of many credits from each other by one in a thousand', () => {
    for (const credits of [25, 1_000, 1_000_000]) {
      expect(jobPriority(5, credits * 1.001)).toBeGreaterThan(jobPriority(5, credits))
    }
  })
})
