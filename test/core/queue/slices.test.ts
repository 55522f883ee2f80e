import { fc } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { jobPriority } from '../../../src/core/queue/slice-jobs.ts'

/** The highest priority that BullMQ accepts. */
const most = 2 ** 21 - 1

const turn = fc.option(fc.double({ min: 0, noNaN: true }))
const priority = fc.integer({ min: 1, max: 9 })

describe('the priority of a job', () => {
  test('is valid for the queue', () => {
    const property = fc.property(priority, turn, (ours, place) => {
      const given = jobPriority(ours, place)
      expect(Number.isInteger(given)).toBe(true)
      expect(given).toBeGreaterThanOrEqual(1)
      expect(given).toBeLessThanOrEqual(most)
    })
    fc.assert(property)
  })

  test('depends on our priority first, and then on the turn', () => {
    const job = fc.record({ ours: priority, place: turn })
    const inOrder = fc
      .tuple(job, job)
      .map((jobs) => jobs.toSorted((a, b) => a.ours - b.ours || (a.place ?? -1) - (b.place ?? -1)))
    const property = fc.property(inOrder, (jobs) => {
      const given = jobs.map(({ ours, place }) => jobPriority(ours, place))
      expect(given).toEqual(given.toSorted((a, b) => a - b))
      expect(new Set(given).size).toBeGreaterThanOrEqual(new Set(jobs.map(({ ours }) => ours)).size)
    })
    fc.assert(property)
  })

  test('distinguishes turns of many credits that differ by one in a thousand', () => {
    for (const credits of [25, 1_000, 1_000_000]) {
      expect(jobPriority(5, credits * 1.001)).toBeGreaterThan(jobPriority(5, credits))
    }
  })
})
