import { describe, expect, test } from 'vitest'
import {
  type SettlementRules,
  type Entry,
  judgeTasks,
  type Matched,
  type OpenCall,
  settlementOf,
} from '../../../src/core/ledger/settle.ts'
import { entry, openCall } from './books.ts'

const clerk: SettlementRules = { account: 1, key: 'key', floor: 100, rebuy: true }
const match = (id: number, given: Partial<Entry> = {}, call: Partial<OpenCall> = {}): Matched => ({
  entry: entry(id, given),
  call: openCall(id, call),
})
const lost: Partial<Entry> = {
  ending: { kind: 'unknown' },
  effect: { kind: 'retry', ambiguous: true, death: false, waitMs: null, code: '', message: '' },
  signal: null,
  creditsUsed: null,
}
const unsent: Partial<Entry> = {
  ending: { kind: 'unsent' },
  effect: { kind: 'keep', waitMs: null },
  signal: null,
  creditsUsed: null,
}

function settled(...matched: readonly Matched[]) {
  const changes = judgeTasks(matched, { rebuy: true, jitter: 0 })
  return settlementOf(clerk, { matched, changes, jitter: 0 })
}

describe('the totals of a run', () => {
  const purse = (given: Partial<Entry>, outcome: string | null) =>
    settled(match(1, given, { outcome })).runs

  test('release the reservation, and add the reported cost', () => {
    expect(purse({}, null)).toEqual([{ run: 1, spent: 3, uncertain: 0, reserved: -5 }])
  })

  test('keep the bound of an unreadable call separately, and nothing for one that was not sent', () => {
    expect(purse(lost, null)).toEqual([{ run: 1, spent: 0, uncertain: 5, reserved: -5 }])
    expect(purse(unsent, null)).toEqual([{ run: 1, spent: 0, uncertain: 0, reserved: -5 }])
    const daySpent = (given: Partial<Entry>) => settled(match(1, given)).change.day_spent
    expect([daySpent(lost), daySpent(unsent)]).toEqual([5, 0])
  })

  test('contain the price instead of the bound once a late answer reports it', () => {
    expect(purse({}, 'unknown')).toEqual([{ run: 1, spent: 3, uncertain: -5, reserved: 0 }])
    expect(purse(unsent, 'unknown')).toEqual([{ run: 1, spent: 0, uncertain: -5, reserved: 0 }])
  })

  test('add up calls that end together', () => {
    expect(settled(match(1), match(2), match(3, lost, { run_id: 2 })).runs).toEqual([
      { run: 1, spent: 6, uncertain: 0, reserved: -10 },
      { run: 2, spent: 0, uncertain: 5, reserved: -5 },
    ])
  })
})

describe('the ledger', () => {
  test('releases the reservation of a late answer, and nothing if it was written off', () => {
    expect(settled(match(1, {}, { outcome: 'unknown' })).change).toMatchObject({
      uncertain: -5,
      used: 3,
      reserved: 0,
    })
    const washed = settled(match(1, {}, { outcome: 'unknown', washed: true }))
    expect(washed.change).toMatchObject({ uncertain: 0, used: 3 })
  })

  test('records what the API reports about the account', () => {
    const broke = settled(match(7, { ...unsent, signal: 'no_credit' }))
    expect(broke.change.no_credit).toEqual({ seq: 7, started_at_ms: 1_000 })
    expect(broke.stops).toMatchObject([{ reason: 'credit_floor' }])
    const refused = settled(match(7, { ...unsent, signal: 'key_refused' }))
    expect(refused.change.refused_keys).toEqual(['key'])
  })
})

describe('a task', () => {
  test('is judged by all of its calls that end together', () => {
    const calls = [1, 2].map((id) => match(id, lost, { task_id: 9, ambiguous: 1 }))
    expect(settled(...calls).tasks).toMatchObject([{ id: 9, ambiguous: 3, state: 'unknown' }])
  })

  test('uses the first of its calls with an answer', () => {
    const calls = [match(1, lost), match(2), match(3)]
    const ofOne = calls.map(({ entry: one, call }) => ({
      entry: one,
      call: { ...call, task_id: 9 },
    }))
    expect(settled(...ofOne).tasks).toMatchObject([{ id: 9, state: 'answered', search_id: 2 }])
  })
})
