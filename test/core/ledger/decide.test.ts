import { describe, expect, test } from 'vitest'
import { WrongDatabase } from '../../../src/base/errors.ts'
import type { Account } from '../../../src/core/ledger/account.ts'
import type { Books } from '../../../src/core/ledger/books.ts'
import {
  reservedBy,
  decideAdmission,
  expectForward,
  giveUp,
  prepareAdmission,
  reservationOf,
  type Spender,
} from '../../../src/core/ledger/reserve.ts'
import type { WaitingTask } from '../../../src/core/ledger/waiting.ts'
import { booksOf, known, rich, spender, waiting } from './books.ts'

interface Case {
  readonly account?: Account
  readonly who?: Partial<Spender>
  readonly books?: Partial<Books>
  readonly tasks?: readonly WaitingTask[]
}

function visit({ account = rich, who = {}, books = {}, tasks = [waiting(1), waiting(2)] }: Case) {
  const buyer = spender(who)
  const costs = new Map([['10/-', known]])
  const requested = tasks.map(({ id }) => ({ task: id, class: '10/-', priority: 5 }))
  const read = { requested, books: booksOf(account, { costs, ...books }), tasks }
  const decision = decideAdmission(prepareAdmission(buyer, read), new Map())
  return { decision, reservation: reservationOf(buyer, decision) }
}

describe('a decision', () => {
  test('uses the highest floor of this worker and the others', () => {
    const granted = (books: number) =>
      visit({ books: { floor: books } }).decision.admission.grants.length
    expect([granted(0), granted(994), granted(998)]).toEqual([2, 1, 0])
    expect(visit({ who: { floor: 999 } }).decision.admission.grants).toEqual([])
  })

  test('names its assumptions: the account, the tasks and the budget of each run, and a mark for each call', () => {
    const purse = { budget: 50, spent: 3, reserved: 4 }
    const tasks = [waiting(1, purse), waiting(2, { ...purse, fresh: 9 })]
    const { reservation } = visit({ tasks, books: { version: '77' } })
    expect(reservation).toMatchObject({
      version: '77',
      tasks: [
        { id: 1, version: 'v1', reused: false },
        { id: 2, version: 'v2', reused: true },
      ],
      runs: [{ run: 1, budget: 50, had_spent: 3, had_reserved: 4, reserved: 5, list: null }],
      grants: [{ task: 1, query: 'query 1', bound: 5, place: 1 }],
    })
    const marks = [visit({}), visit({})].flatMap((one) => one.reservation?.grants ?? [])
    expect(new Set(marks.map(({ mark }) => mark)).size).toBe(4)
  })

  test('holds whatever others do only while nothing is scarce', () => {
    const steady = (given: Case) => visit(given).reservation?.steady
    expect(steady({})).toBe(true)
    expect(steady({ account: { ...rich, seen: { seq: 40, at: 900, remaining: 106 } } })).toBe(false)
    expect(steady({ who: { dailyBudget: 1_000 } })).toBe(false)
    expect(steady({ who: { monthlyBudget: 1_000 } })).toBe(false)
    expect(steady({ account: { ...rich, month: '2025-12-01' } })).toBe(false)
    expect(steady({ who: { rateLimit: 1_000 } })).toBe(false)
    expect(steady({ account: { ...rich, day: '2025-12-31' } })).toBe(false)
    expect(steady({ account: { ...rich, drainedFloor: 100 } })).toBe(false)
    expect(steady({ books: { costs: new Map([['10/-', { ...known, seen: 29 }]]) } })).toBe(false)
  })

  test('returns tasks whose run has used up its budget', () => {
    const tasks = [waiting(1, { budget: 8 }), waiting(2, { budget: 8 })]
    const { decision } = visit({ tasks: tasks.map((task) => ({ ...task, spent: 8 })) })
    expect(reservedBy(decision, new Map()).gone).toEqual([1, 2])
  })
})

describe('the ledger at admission', () => {
  test('never goes back: a worker that saw more calls begin stops', () => {
    const begun = { seq: 0 }
    const look = (seq: number) => expectForward({ begun }, booksOf({ ...rich, seq }))
    look(7)
    look(7)
    look(9)
    expect(() => look(8)).toThrow(WrongDatabase)
  })
})

describe('calls that were requested without a reply', () => {
  test('are remembered, up to the newest ten thousand', () => {
    const givenUp = new Set<string>()
    const marks = Array.from({ length: 10_002 }, (_, index) => `mark ${index}`)
    giveUp(givenUp, marks.slice(0, 3))
    expect(givenUp.size).toBe(3)
    giveUp(givenUp, marks.slice(3))
    expect(givenUp.size).toBe(10_000)
    expect([givenUp.has('mark 1'), givenUp.has('mark 10001')]).toEqual([false, true])
  })
})
