import { describe, expect, test } from 'vitest'
import type { Account } from '../../../src/core/ledger/account.ts'
import { newAccount } from './new-account.ts'
import type { CallEnding, FinishedCall, Signal } from '../../../src/core/ledger/settle.ts'
import { type Held, settle } from './settle-model.ts'

const base: Account = {
  ...newAccount,
  seq: 10,
  usedTotal: 50,
  seen: { seq: 5, at: 1_000, remaining: 300 },
  spentSince: 6,
  reserved: 30,
  inFlight: 3,
}

function outcome(seq: number, ending: CallEnding, was: string | null = null): FinishedCall {
  const bound = { credits_reserved: 10, class: '10/-', outcome: was, washed: false }
  return {
    call: { start_seq: seq, sent_at_ms: seq * 1_000, start_total: 50, ...bound },
    entry: { ending },
  }
}

const told = (used: number, remaining: number | null): CallEnding => ({
  kind: 'settled',
  used,
  remaining,
  priced: true,
})

interface Case {
  readonly account?: Account
  readonly signals?: readonly Signal[]
  readonly held?: readonly Omit<Held, 'class'>[]
}

function write(
  outcomes: readonly FinishedCall[],
  { account = base, signals = [], held = [] }: Case = {},
) {
  const kept = held.map((call) => ({ ...call, class: '10/-' }))
  const rest = { signals, held: kept, now: 20_000, floor: 100, jitter: 0 }
  return settle(account, new Map(), { outcomes, ...rest })
}

describe('the ledger', () => {
  test('uses the balance of the call that began last, not of the one that arrived last', () => {
    const { account } = write([outcome(8, told(3, 280)), outcome(7, told(4, 290))])
    expect(account.seen).toEqual({ seq: 8, at: 8_000, remaining: 280 })
    expect(account).toMatchObject({ spentSince: 4, usedTotal: 57, reserved: 10, inFlight: 1 })
  })

  test('subtracts an answer that began before the balance was requested', () => {
    const { account } = write([outcome(4, told(3, 999))])
    expect(account.seen).toEqual(base.seen)
    expect(account.spentSince).toBe(9)
  })

  test('reserves the credits of an unreadable call', () => {
    const { account } = write([outcome(8, { kind: 'unknown' })])
    expect(account).toMatchObject({ reserved: 20, uncertain: 10, daySpent: 10 })
  })

  test('releases reserved credits if a balance was requested two minutes later, and not before', () => {
    const account = { ...base, uncertain: 20 }
    const held = [
      { call: 1, unknownAt: 0, bound: 10 },
      { call: 2, unknownAt: 1, bound: 10 },
    ]
    const late = outcome(120, told(1, 200))
    const settled = write([late], { account, held })
    expect(settled.washed).toEqual([1])
    expect(settled.account.uncertain).toBe(10)
  })

  test('uses a late answer, and releases its reserved credits', () => {
    const account = { ...base, uncertain: 10, daySpent: 10 }
    const settled = write([outcome(3, told(4, 400), 'unknown')], { account })
    expect(settled.account).toMatchObject({ uncertain: 0, spentSince: 10, reserved: 30 })
  })

  test('does not change the spending of a day if a call of another day is answered late', () => {
    const account = { ...base, uncertain: 10, day: '2026-01-02', daySpent: 5 }
    const settled = write([outcome(3, told(4, null), 'unknown')], { account })
    expect(settled.account.daySpent).toBe(5)
  })

  test('learns prices from answers only', () => {
    const free: CallEnding = { kind: 'settled', used: 0, remaining: null, priced: false }
    const { costs } = write([outcome(7, told(4, 290)), outcome(8, told(2, 288)), outcome(9, free)])
    expect(costs.get('10/-')).toMatchObject({ dearest: 4, cheapest: 2, seen: 2, trying: false })
  })
})

describe('a refusal', () => {
  test('for lack of credits leaves nothing proved, unless a call that began later reported some', () => {
    const told402 = (seq: number): Signal => ({ kind: 'no_credit', seq, startedAt: 7_000 })
    const drained = write([], { signals: [told402(7)] }).account
    expect(drained).toMatchObject({ seen: { seq: 7, remaining: 0 }, drainedFloor: 100 })
    const old = write([], { signals: [told402(4)] }).account
    expect(old).toMatchObject({ seen: base.seen, drainedFloor: null })
  })

  test('of the key blocks that key, beside all that were refused before', () => {
    const { account } = write([], { signals: [{ kind: 'key_refused', key: 'old' }] })
    expect(account.blockedKeys).toEqual(['old'])
    const many = Array.from({ length: 20 }, (_, index) => `key ${index}`)
    const signals = many.map((key): Signal => ({ kind: 'key_refused', key }))
    expect(write([], { account, signals }).account.blockedKeys).toEqual(['old', ...many])
  })

  test('for a high rate counts once in a burst, and doubles the wait of the next one', () => {
    const fast = (startedAt: number): Signal => ({ kind: 'slow_down', startedAt, waitMs: null })
    const burst = write([], { signals: [fast(1), fast(2), fast(3)] }).account
    expect(burst).toMatchObject({ slowdowns: 1, notBefore: 21_000 })
    const next = write([], { account: burst, signals: [fast(21_000)] }).account
    expect(next).toMatchObject({ slowdowns: 2, notBefore: 22_000 })
    const welcome = write([], { account: next, signals: [{ kind: 'welcome' }] }).account
    expect(welcome.slowdowns).toBe(0)
  })

  test('with a time is respected, for at least a second', () => {
    const wait = (waitMs: number): Signal => ({ kind: 'slow_down', startedAt: 1, waitMs })
    expect(write([], { signals: [wait(7_000)] }).account.notBefore).toBe(27_000)
    expect(write([], { signals: [wait(0)] }).account.notBefore).toBe(21_000)
  })
})
