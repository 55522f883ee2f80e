import { describe, expect, test } from 'vitest'
import { describeProgress, type WorkProgress } from '../../../src/core/worker/progress.ts'

const standing: WorkProgress = {
  done: 300,
  left: 300,
  perSecond: 12.5,
  flying: 8,
  remaining: 5_000,
  still: null,
}

const line = (over: Partial<WorkProgress>) => describeProgress({ ...standing, ...over })

describe('the line of progress', () => {
  test('shows done, left, rate and time remaining', () => {
    expect(line({})).toBe(
      '300 done, 300 left · 13/s · 24 s to go · 8 in flight · 5,000 credits left',
    )
  })

  test('shows no time that is unknown', () => {
    expect(line({ left: null, perSecond: 0, remaining: null })).toBe('300 done · 8 in flight')
    expect(line({ perSecond: 0 })).not.toContain('to go')
    expect(line({ left: 0, flying: 0 })).toBe('300 done, 0 left · 13/s · 5,000 credits left')
  })

  test('shows why nothing is bought instead of the remaining time', () => {
    expect(line({ still: '103 credits left, 100 must stay', flying: 0 })).toBe(
      '300 done, 300 left · 13/s · 5,000 credits left · stopped: 103 credits left, 100 must stay',
    )
  })

  test.each([
    [1_200, '96 s to go'],
    [10_000, '14 min to go'],
    [200_000, '4 h 27 min to go'],
  ])('%i tasks at 12.5 a second are %s', (left, said) => {
    expect(line({ left })).toContain(said)
  })
})
