// @module-tag slow
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fewMessageRuns, messageRuns, modelSeed } from '../../support/schedules.ts'
import { liveThrough, type MessageSchedule, messageSchedule } from './messages/schedule.ts'

describe('late, lost, duplicated or reordered messages, frozen processes, wrong clocks and a restored database', () => {
  test('violate no guarantee', () => {
    expect(live(fewMessageRuns)).toBe('kept')
  })
  test('violate no guarantee in many more schedules', { tags: ['slow'] }, () => {
    expect(live(messageRuns)).toBe('kept')
  })
})

/** 'kept', or the shortest schedule that violates a guarantee. */
function live(runs: number): string {
  const kept = fc.property(messageSchedule, (drawn) => void liveThrough(drawn))
  const found = fc.check(kept, { numRuns: runs, seed: modelSeed })
  if (!found.failed && found.numRuns !== runs) return `lived ${found.numRuns} of ${runs} lives`
  return fc.defaultReportMessage(found) ?? 'kept'
}

test('a database that is restored between the read of a call and its settlement gives no answer to another query', () => {
  // Found at schedule 778,484: another query was given the call's id, and only the mark differed.
  const drawn: MessageSchedule = {
    plan: {
      ...{ balance: 1, floors: [20], accounts: 1, queries: 2, seen: 0 },
      runs: [{ budget: null, maxAgeMs: 0 }],
      price: { least: 1, range: 0, jumpsAfter: 1_000 },
      ...{ listBudget: null, dailyBudget: null, mostInFlight: null },
      ...{ faults: 0, others: false, restores: true },
    },
    steps: [
      ...[16_058_313, 929_019, 10_964_810, 8_091_468, 3_762_524, 2_152_422, 208_151, 1_695_330],
      ...[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10_977_057, 0],
    ],
    heals: true,
  }
  expect(() => liveThrough(drawn)).not.toThrow()
})
