import { describe, expect, test } from 'vitest'
import type { Account } from '../../../src/core/ledger/account.ts'
import { newAccount } from './new-account.ts'
import {
  admit,
  type CallRequest,
  type Rules,
  type RunBudgetUse,
} from '../../../src/core/ledger/admission.ts'
import { type Cost, unknownCost } from '../../../src/core/ledger/prices.ts'

const known: Account = { ...newAccount, seq: 40, seen: { seq: 40, at: 0, remaining: 200 } }
const trusted: Cost = {
  ...unknownCost,
  dearest: 5,
  cheapest: 1,
  seen: 30,
  earlier: { first: 5, second: 5, count: 30 },
}
const rules: Rules = {
  now: 1_000,
  floor: 100,
  counts: true,
  key: 'key',
  dailyBudget: null,
  day: '2026-01-01',
  dayEnds: 86_400_000,
  monthlyBudget: null,
  month: '2026-01-01',
  monthEnds: 31 * 86_400_000,
  rateLimit: null,
  mostInFlight: null,
  renewalAfter: () => null,
}

function asksFor(count: number, more: Partial<CallRequest> = {}): CallRequest[] {
  return Array.from({ length: count }, (_, task) => ({
    task,
    class: '10/-',
    run: 1,
    urgentElsewhere: 0,
    ...more,
  }))
}

interface Case {
  readonly account?: Account
  readonly cost?: Cost | null
  readonly asks?: readonly CallRequest[]
  readonly purse?: RunBudgetUse
  readonly rules?: Partial<Rules>
}

function ask({ account = known, cost = trusted, asks = asksFor(30), purse, ...more }: Case) {
  const costs = new Map(cost === null ? [] : [['10/-', cost]])
  const purses = new Map(purse === undefined ? [] : [[1, purse]])
  return admit(account, costs, {
    requests: asks,
    budgets: purses,
    rules: { ...rules, ...more.rules },
  })
}

describe('admission', () => {
  test('admits as many calls as fit above the floor at the highest price', () => {
    const { grants, deferral: rest } = ask({})
    expect(grants).toHaveLength(20)
    expect(rest).toEqual({ kind: 'wait', ms: 100 })
  })

  test('counts credits reserved for lost calls as spent', () => {
    expect(ask({ account: { ...known, uncertain: 60 } }).grants).toHaveLength(8)
  })

  test('stops at the floor, and shows the credits left and reserved', () => {
    const { grants, deferral: rest } = ask({ account: { ...known, uncertain: 100 } })
    expect(grants).toEqual([])
    expect(rest).toMatchObject({ kind: 'stop', reason: 'credit_floor', until: null })
    expect(rest).toHaveProperty(
      'detail',
      expect.stringContaining('held for calls with an unknown outcome: 100 credits'),
    )
  })

  test('admits one call while no balance is known, and waits longer before each further one', () => {
    const first = ask({ account: newAccount, cost: null })
    expect(first.grants).toMatchObject([{ bound: 10, probe: true }])
    const lost = { ...first.account, inFlight: 0, reserved: 0, uncertain: 10 }
    const soon = ask({ account: lost, rules: { now: 1_500 } })
    expect(soon.deferral).toEqual({ kind: 'wait', ms: 1_500 })
    const second = ask({ account: lost, rules: { now: 3_001 } })
    expect(second.grants).toHaveLength(1)
    const again = { ...second.account, inFlight: 0, reserved: 0, uncertain: 20 }
    expect(ask({ account: again, rules: { now: 3_001 } }).deferral).toEqual({
      kind: 'wait',
      ms: 4_000,
    })
  })

  test('requires a person after five calls without a reported balance', () => {
    const account = { ...newAccount, blindCalls: 5, lastProbeAt: 0 }
    const { grants, deferral: rest } = ask({ account, rules: { now: 3_600_000 } })
    expect(grants).toEqual([])
    expect(rest).toHaveProperty('detail', expect.stringContaining('npm run resume'))
    const resumed = { ...account, probeGranted: true, blindCalls: 0, lastProbeAt: null }
    expect(ask({ account: resumed }).grants).toHaveLength(1)
  })

  test('repeats a probe that a person granted while none reports a balance, up to five, with growing pauses', () => {
    let account: Account = { ...known, uncertain: 100, probeGranted: true }
    let now = 1_000
    for (const pause of [2_000, 4_000, 8_000, 16_000]) {
      const probe = ask({ account, rules: { now } })
      expect(probe.grants).toMatchObject([{ probe: true }])
      account = { ...probe.account, inFlight: 0, reserved: 0 }
      expect(ask({ account, rules: { now } }).deferral).toEqual({ kind: 'wait', ms: pause })
      now += pause
    }
    const last = ask({ account, rules: { now } })
    expect(last.grants).toMatchObject([{ probe: true }])
    account = { ...last.account, inFlight: 0, reserved: 0 }
    const { deferral } = ask({ account, rules: { now: now + 3_600_000 } })
    expect(deferral).toMatchObject({ kind: 'stop', reason: 'credit_floor' })
  })

  test('withdraws the permission for a probe with the first call that needs none', () => {
    const { grants, account } = ask({ account: { ...known, probeGranted: true }, asks: asksFor(1) })
    expect(grants).toMatchObject([{ probe: false }])
    expect(account.probeGranted).toBe(false)
  })

  test('tries again automatically after the plan has renewed', () => {
    const account = { ...known, uncertain: 100 }
    const renewalAfter = (time: number) => (time < 500 ? 500 : 9_000)
    expect(ask({ account, rules: { renewalAfter } }).grants).toMatchObject([{ probe: true }])
    const later = { ...account, seen: { seq: 41, at: 600, remaining: 90 } }
    const { grants, deferral: rest } = ask({ account: later, rules: { renewalAfter } })
    expect(grants).toEqual([])
    expect(rest).toMatchObject({ kind: 'stop', until: 9_000 })
  })

  test('checks an old balance with one call before it is trusted again', () => {
    expect(ask({ rules: { now: 600_001 } }).grants).toMatchObject([{ probe: true }])
  })

  test('checks a balance of another history with a single call, and not if even that is too much', () => {
    const doubted = (remaining: number, inFlight = 0) =>
      ask({
        account: { ...known, inFlight, doubted: true, seen: { seq: 40, at: 0, remaining } },
      })
    expect(doubted(200).grants).toMatchObject([{ probe: true }])
    expect(doubted(200, 1).grants).toEqual([])
    expect(doubted(104)).toMatchObject({
      grants: [],
      deferral: { kind: 'stop', reason: 'credit_floor' },
    })
  })

  test('checks with one call whether another key has the same balance, even beside calls of the old key', () => {
    const account = { ...known, keys: ['another'] }
    expect(ask({ account }).grants).toMatchObject([{ probe: true }])
    expect(ask({ account: { ...account, inFlight: 1 } }).grants).toMatchObject([{ probe: true }])
    expect(ask({ account: { ...account, keys: ['another', 'key'] } }).grants).toHaveLength(20)
  })

  test.each([
    { now: 5, last: 0 },
    { now: 0, last: 5 },
  ])(
    'reserves for each call the fall of the balance in excess of bills, in $now or $last',
    (external) => {
      expect(ask({ account: { ...known, external } }).grants).toHaveLength(10)
    },
  )

  test('keeps more than the floor after credits ran out at it, but not after the floor was lowered', () => {
    const seen = { seq: 40, at: 0, remaining: 112 }
    const grantsAfter = (drainedFloor: number) =>
      ask({ account: { ...known, seen, drainedFloor } }).grants
    expect(grantsAfter(100)).toEqual([])
    expect(grantsAfter(101)).toHaveLength(2)
  })

  test('reserves a rare high price for a call among others', () => {
    const cost = { ...trusted, dearest: 50, earlier: { first: 50, second: 5, count: 30 } }
    expect(ask({ cost }).grants.map(({ bound }) => bound)).toEqual([50, 50])
  })

  test('reserves more for each call of a class with few known prices', () => {
    const { grants } = ask({ cost: { ...trusted, seen: 3 } })
    expect(grants.map(({ bound }) => bound)).toEqual([20, 20, 20, 20, 20])
  })

  test('admits one call to learn the price of a new class', () => {
    const { grants, deferral: rest } = ask({ cost: null })
    expect(grants).toMatchObject([{ bound: 10 }])
    expect(rest.kind).toBe('wait')
  })

  test('leaves scarce credits to more urgent tasks elsewhere', () => {
    const { grants, deferral: rest } = ask({ asks: asksFor(1, { urgentElsewhere: 20 }) })
    expect(grants).toEqual([])
    expect(rest).toEqual({ kind: 'yield' })
  })

  test('stops for a refused key, and continues with another one', () => {
    const account = { ...known, blockedKeys: ['key'] }
    expect(ask({ account }).deferral).toMatchObject({ kind: 'stop', reason: 'auth' })
    expect(ask({ account, rules: { key: 'new key' } }).grants).toHaveLength(20)
  })

  test('starts nothing before the time that the API requested', () => {
    const account = { ...known, notBefore: 1_001 }
    expect(ask({ account }).deferral).toMatchObject({ kind: 'stop', reason: 'rate', until: 1_001 })
    expect(ask({ account, rules: { now: 1_001 } }).grants).toHaveLength(20)
  })

  test('spaces calls by the rate limit', () => {
    const { grants, deferral: rest } = ask({ rules: { rateLimit: 2 } })
    expect(grants).toHaveLength(1)
    expect(rest).toEqual({ kind: 'wait', ms: 500 })
  })

  test('never stops a test account for lack of credits', () => {
    const account = { ...newAccount, seen: { seq: 1, at: 0, remaining: 0 } }
    const { grants } = ask({ account, rules: { counts: false } })
    expect(grants).toHaveLength(30)
    expect(new Set(grants.map(({ bound }) => bound))).toEqual(new Set([0]))
  })
})

describe('a cap on calls in flight', () => {
  test('counts the calls of all workers, and delays the others until these end', () => {
    const account = { ...known, inFlight: 5, reserved: 25 }
    const { grants, deferral: rest } = ask({ account, rules: { mostInFlight: 8 } })
    expect(grants).toHaveLength(3)
    expect(rest).toEqual({ kind: 'wait', ms: 100 })
    expect(ask({ account, rules: { mostInFlight: 5 } }).grants).toEqual([])
  })

  test('applies to a test account as well', () => {
    expect(ask({ rules: { mostInFlight: 2, counts: false } }).grants).toHaveLength(2)
  })
})

describe('a budget', () => {
  test('of a run is never exceeded, and the tasks beyond it are named', () => {
    const purse = { budget: 12, spent: 0, reserved: 0, list: null }
    expect(ask({ purse }).grants).toHaveLength(2)
    const spent = ask({ purse: { ...purse, spent: 10 } })
    expect(spent.grants).toEqual([])
    expect(spent.spentRuns).toEqual([1])
  })

  test('of the day stops the account until the day ends', () => {
    const account = { ...known, day: '2026-01-01', daySpent: 48 }
    const { grants, deferral: rest } = ask({ account, rules: { dailyBudget: 50 } })
    expect(grants).toEqual([])
    expect(rest).toMatchObject({ kind: 'stop', reason: 'budget', until: 86_400_000 })
  })

  test('of the day starts again on the next day, and never on the previous one', () => {
    const account = { ...known, day: '2026-01-01', daySpent: 50 }
    const next = ask({ account, rules: { dailyBudget: 50, day: '2026-01-02' } })
    expect(next.grants).toHaveLength(10)
    const before = ask({ account, rules: { dailyBudget: 50, day: '2025-12-31' } })
    expect(before.grants).toEqual([])
    expect(before.account.daySpent).toBe(50)
  })

  test('of the month stops the account until the month ends, even if the daily one is used up as well', () => {
    const account = {
      ...known,
      day: '2026-01-01',
      daySpent: 9,
      month: '2026-01-01',
      monthSpent: 48,
    }
    const { grants, deferral: rest } = ask({
      account,
      rules: { monthlyBudget: 50, dailyBudget: 10 },
    })
    expect(grants).toEqual([])
    expect(rest).toMatchObject({ kind: 'stop', reason: 'budget', until: 31 * 86_400_000 })
    expect(ask({ account, rules: { monthlyBudget: 58 } }).grants).toHaveLength(2)
  })

  test('of the month starts again in the next month, and never in the previous one', () => {
    const account = { ...known, month: '2026-01-01', monthSpent: 50 }
    const next = ask({ account, rules: { monthlyBudget: 50, month: '2026-02-01' } })
    expect(next.grants).toHaveLength(10)
    const before = ask({ account, rules: { monthlyBudget: 50, month: '2025-12-15' } })
    expect(before.grants).toEqual([])
    expect(before.account.monthSpent).toBe(50)
  })

  test('of a list is shared by its runs, and only tasks beyond it are unaffordable', () => {
    const list = { key: '1 2026-01', budget: 12, spent: 0, reserved: 0 }
    const runs = (more: Partial<typeof list>) => {
      const purse = { budget: null, spent: 0, reserved: 0, list: { ...list, ...more } }
      const asks = [1, 2, 3].flatMap((run) => asksFor(2, { run }))
      const purses = new Map<number, RunBudgetUse>([
        [1, purse],
        [2, purse],
        [3, { ...purse, list: null }],
      ])
      return admit(known, new Map([['10/-', trusted]]), { requests: asks, budgets: purses, rules })
    }
    expect(runs({}).grants.map(({ run }) => run)).toEqual([1, 1, 3, 3])
    expect(runs({ reserved: 10 })).toMatchObject({ spentRuns: [], spentByList: [] })
    const spent = runs({ spent: 10 })
    expect(spent.grants.map(({ run }) => run)).toEqual([3, 3])
    expect(spent).toMatchObject({ spentRuns: [1, 2], spentByList: [1, 2] })
  })
})
