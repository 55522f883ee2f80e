import { describe, expect, test } from 'vitest'
import { describeProgress, type WorkProgress } from '../../../src/core/worker/progress.ts'

const standing: WorkProgress = {
  done: 300,
  left: 300,
  perSecond: 12.5,
  flying: 8,
  remaining: 5_000,
  spendable: { credits: 4_900, end: 'credit floor reached' },
  price: 2,
  still: null,
}

const line = (over: Partial<WorkProgress>) => describeProgress({ ...standing, ...over })

describe('the line of progress', () => {
  test('shows done, left, rate and time remaining', () => {
    expect(line({})).toBe(
      '300 done, 300 left · 13/s · 24 s to go · 8 in flight · 5,000 credits left',
    )
  })

  test('shows after how many answers credits run out, if that is before the last task', () => {
    expect(
      line({ remaining: 108, spendable: { credits: 8, end: 'credit floor reached' } }),
    ).toContain(' · credit floor reached after 4 more answers, in 1 s · ')
    const day = { credits: 3, end: 'daily budget used up' } as const
    expect(line({ spendable: day })).toContain('daily budget used up after 1 more answer,')
    expect(line({ spendable: { credits: 599, end: 'credit floor reached' } })).toContain(
      '299 more answers',
    )
    expect(line({ spendable: { credits: 600, end: 'credit floor reached' } })).toContain(
      '24 s to go',
    )
    expect(line({ spendable: { credits: -5, end: 'credit floor reached' } })).toContain(
      'after 0 more',
    )
  })

  test('shows no time that is unknown', () => {
    expect(line({ left: null, perSecond: 0, remaining: null, spendable: null, price: null })).toBe(
      '300 done · 8 in flight',
    )
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
    expect(line({ left, spendable: null })).toContain(said)
  })
})
