import { describe, expect, test } from 'vitest'
import type { FrontBooks } from './front.ts'
import { type Evidence, judgeChaos } from './judge.ts'

const charge = (q: string, at = 50, charged = 2) => {
  return { q, charged, at, charged_at: at, lied: 0, balance: 150 }
}
const book = (charges: ReturnType<typeof charge>[], least = 150) => ({
  balance: 200,
  least,
  charged: charges.reduce((sum, { charged }) => sum + charged, 0),
  charges,
  events: [] as { what: string; credits: number; at: number }[],
})
const task = (q: string, given: Partial<Evidence['tasks'][number]> = {}) => ({
  ...{ q, state: 'answered', ambiguous: 0, chargeable: 1 },
  ...given,
})

/** One query, bought once, without any violation. */
function wellBehaved(): Evidence {
  return {
    books: new Map([['first', book([charge('a')])]]),
    setbacks: [],
    keyChecks: [],
    unknownForMs: 100,
    tasks: [task('a')],
    sums: {
      ...{ in_flight: 0, unsent: 0, calls: 1, received: 1 },
      ...{ without_body: 0, miscounted: 0, wrong: 0, misdated: 0 },
    },
    purses: [{ account: 'first', used: 2, held: 0 }],
    budgets: [],
    ...{ floor: 100, stoodMs: 900, longestStandMs: 10_000, accidents: [], leaks: [] },
    replays: false,
  }
}

const judged = (change: Partial<Evidence>) => judgeChaos({ ...wellBehaved(), ...change }).violations

describe('the check after chaos', () => {
  test('finds nothing if each query was bought once', () => {
    expect(judged({})).toEqual([])
  })

  test('finds a query that was charged again although its call was read', () => {
    const books = new Map([['first', book([charge('a'), charge('a')])]])
    const purses = [{ account: 'first', used: 4, held: 0 }]
    expect(judged({ books, purses, tasks: [task('a', { chargeable: 2 })] })).toEqual([
      '1 charges beyond the first and those nobody could read: a',
    ])
    expect(judged({ books, purses, tasks: [task('a', { chargeable: 2, ambiguous: 1 })] })).toEqual(
      [],
    )
  })

  test('does not excuse a second charge by a lost reply if the API charges a call once', () => {
    const books = new Map([['first', book([charge('a'), charge('a')])]])
    const purses = [{ account: 'first', used: 4, held: 0 }]
    const tasks = [task('a', { chargeable: 2, ambiguous: 1 })]
    expect(judged({ books, purses, tasks, replays: true })).toEqual([
      '1 charges beyond the first and those nobody could read: a',
    ])
  })

  test('finds a charge of a call that is not in the ledger', () => {
    const books = new Map([['first', book([charge('a'), charge('a')])]])
    const purses = [{ account: 'first', used: 4, held: 0 }]
    expect(judged({ books, purses, tasks: [task('a', { chargeable: 1, ambiguous: 1 })] })).toEqual([
      '1 charges of calls that the tables do not know',
    ])
  })

  test('excuses what the tables lost when they were restored, and nothing else', () => {
    const books = new Map([['first', book([charge('a', 50), charge('a', 90)])]])
    const purses = [{ account: 'first', used: 2, held: 0 }]
    const setbacks = [{ from: 40, until: 60 }]
    expect(judged({ books, purses, setbacks })).toEqual([])
    expect(judgeChaos({ ...wellBehaved(), books, purses, setbacks }).forgotten).toBe(1)
    // Both calls are known, so the restored copy of the tables does not matter.
    expect(judged({ books, purses, setbacks, tasks: [task('a', { chargeable: 2 })] })).toEqual([
      '1 charges beyond the first and those nobody could read: a',
    ])
  })

  test('accepts a lost list, and finds a query that was never requested', () => {
    const books = new Map([['first', book([charge('a'), charge('gone', 45)])]])
    const setbacks = [{ from: 40, until: 46 }]
    expect(judged({ books, setbacks })).toEqual([])
    const later = new Map([['first', book([charge('a', 45), charge('gone', 47)])]])
    expect(judged({ books: later, setbacks })).toEqual(['1 queries were charged that no task asks'])
  })

  test('finds a violated floor in one of two accounts', () => {
    const books = new Map([
      ['first', book([charge('a')])],
      ['second', book([], 99)],
    ])
    expect(judged({ books })).toEqual([
      'the balance of second fell to 99, below 100: the floor was crossed',
    ])
  })

  test.each([
    ['what others took lately', { events: [{ what: 'other', credits: -3, at: 40 }] }],
    ['a new key whose balance was asked for', { keyCredits: 3 }],
    ['a reply that did not tell its cost', { lied: 3 }],
    ['a charge that the tables forgot when they were set back', { forgotten: 3 }],
  ])('excuses a balance below the floor by %s, by this amount and not later', (_, lost) => {
    const none = { events: [] as FrontBooks['events'], keyCredits: 0, lied: 0, forgotten: 0 }
    const { events, keyCredits, lied, forgotten } = { ...none, ...lost }
    const at = (when: number, balance: number) => {
      const silent = { ...charge('b', 40, lied + forgotten), lied }
      const charges = [{ ...charge('a', when), balance }, ...(silent.charged > 0 ? [silent] : [])]
      return judged({
        books: new Map([['first', { ...book(charges, balance), events }]]),
        keyChecks: [{ account: 'first', at: 40, credits: keyCredits }],
        tasks: [task('a'), ...(lied > 0 ? [task('b')] : [])],
        setbacks: forgotten > 0 ? [{ from: 39, until: 41 }] : [],
      })
    }
    expect(at(50, 97)).toEqual([])
    expect(at(50, 96)).toEqual([
      'the balance of first fell to 96, below 100: the floor was crossed, and no worker could know of 3 credits',
    ])
    for (const when of [150, 30]) {
      expect(at(when, 97)).toEqual([
        'the balance of first fell to 97, below 100: the floor was crossed',
      ])
    }
  })

  test('counts unreported charges neither against the ledger nor against a budget', () => {
    const silent = { ...charge('list-1 query 1'), lied: 2 }
    const books = new Map([['first', book([silent])]])
    const purses = [{ account: 'first', used: 0, held: 0 }]
    const tasks = [task('list-1 query 1')]
    const budgets = [{ list: 'list-1', budget: 1 }]
    expect(judged({ books, purses, tasks, budgets })).toEqual([])
  })

  test('finds credits that the ledger of one account does not contain, although another has more', () => {
    const books = new Map([
      ['first', book([charge('a')])],
      ['second', book([])],
    ])
    const purses = [
      { account: 'first', used: 1, held: 0 },
      { account: 'second', used: 1, held: 0 },
    ]
    expect(judged({ books, purses })).toEqual([
      '2 credits of first were charged, the ledger knows of 1 and holds 0, and 0 may be forgotten',
    ])
  })

  test('adds up what two accounts spent on one run, and compares it with its budget', () => {
    const books = new Map([
      ['first', book([charge('list-1 query 1')])],
      ['second', book([charge('list-1 query 2')])],
    ])
    const tasks = [task('list-1 query 1'), task('list-1 query 2')]
    const purses = ['first', 'second'].map((account) => ({ account, used: 2, held: 0 }))
    const spent = (budget: number) =>
      judged({ books, tasks, purses, budgets: [{ list: 'list-1', budget }] })
    expect(spent(4)).toEqual([])
    expect(spent(3)).toEqual(['4 credits were spent on list-1, of a budget of 3'])
  })

  test.each([
    [{ tasks: [task('a', { state: 'open' })] }, '1 tasks came to no end'],
    [{ stoodMs: 10_001 }, 'the fleet stood for 10001 ms, and 10000 are the most'],
    [{ leaks: ['a log'] }, '1 places hold a key: a log'],
    [{ accidents: ['exit 70: a stack'] }, 'a worker ended badly: exit 70: a stack'],
  ])('finds %j', (change, violation) => {
    expect(judged(change)).toEqual([violation])
  })

  test.each([
    ['in_flight', '3 calls stayed in flight'],
    ['without_body', '3 answers have no body'],
    ['miscounted', '3 answers have other rows than their body'],
    ['wrong', '3 answers are stored for another query than they were given to'],
    ['misdated', '3 answers bear a time before their call, or one to come'],
  ])('finds what the sums over the tables show: %s', (sum, violation) => {
    expect(judged({ sums: { ...wellBehaved().sums, [sum]: 3 } })).toEqual([violation])
  })
})
