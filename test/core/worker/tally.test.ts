import { expect, onTestFinished, test, vi } from 'vitest'
import { Tally } from '../../../src/core/worker/summary.ts'
import { answer, bought, lost, refusal, response, unsent } from './pieces.ts'

test('the totals of a worker count sent replies, reported credits, and tasks by their outcome', () => {
  const tally = new Tally()
  const replies = [
    answer(),
    answer({ credits_used: 3, credits_remaining: 95 }),
    refusal(400, 'INVALID_QUERY'),
    lost(),
    unsent('ENDING'),
  ]
  for (const reply of replies) tally.reply(bought(1, reply).verdict)
  for (const state of ['answered', 'answered', 'failed', 'unknown', 'open']) tally.ended(state)
  tally.reused = 4
  expect(tally.sum('completed')).toMatchObject({
    finish: 'completed',
    answered: 2,
    reused: 4,
    failed: 1,
    unknown: 1,
    unreadable: 0,
    calls: 4,
    credits_used: 5,
    credits_remaining: 95,
  })
})

test('an unreadable answer is counted, and reports no balance', () => {
  const tally = new Tally()
  tally.reply(bought(1, response(200, [])).verdict)
  expect(tally.sum('completed')).toMatchObject({ unreadable: 1, credits_remaining: null })
})

test('a worker is idle from the last task that ended, not from one that stays open', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const tally = new Tally()
  vi.advanceTimersByTime(1_000)
  tally.ended('open')
  expect([tally.stillFor, tally.age]).toEqual([1_000, 1_000])
  tally.ended('answered')
  vi.advanceTimersByTime(500)
  expect([tally.stillFor, tally.age]).toEqual([500, 1_500])
})
