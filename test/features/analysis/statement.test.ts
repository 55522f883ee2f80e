// @module-tag slow
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeStatement } from '../../../src/core/ledger/statement.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

/** Events at an API in order: a call of ours with its position, or a change by others. */
type Deed =
  | { readonly kind: 'call'; readonly used: number; readonly early: number; readonly late: number }
  | { readonly kind: 'lost'; readonly used: number; readonly bound: number }
  | { readonly kind: 'silent'; readonly used: number }
  | { readonly kind: 'top_up' | 'others'; readonly credits: number }

interface Line {
  readonly kind: string
  readonly credits: number
  readonly balance: number
}

/** Writes the calls of such a sequence to the ledger, and reads their statement. */
async function statementOf(begin: number, deeds: readonly Deed[]) {
  let balance = begin
  const calls = deeds.flatMap((deed, index) => {
    balance += moveOf(deed)
    return traceOf(deed, index * 10, balance)
  })
  await newAccount()
  await database.pool.query(
    `insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total,
      credits_reserved, credits_used, credits_remaining, outcome, class)
    select 1, gen_random_uuid(), (select id from accounts), 1, 'epoch'::timestamptz + sent * interval '1 second',
      'epoch'::timestamptz + finished * interval '1 second', row_number() over (order by sent, finished), 0,
      bound, used, remaining, outcome, ''
    from jsonb_to_recordset($1::jsonb) as c (
      sent float8, finished float8, bound integer, used integer, remaining bigint, outcome text
    )`,
    [JSON.stringify(calls)],
  )
  const { rows } = await database.pool.query<Line>(
    'select kind, credits, balance from analysis.statement order by line',
  )
  return { lines: rows, balance }
}

async function newAccount(): Promise<void> {
  await database.pool.query('truncate calls, accounts cascade')
  await database.pool.query("insert into accounts (name, kind) values ('bank', 'live')")
}

/** The ledger's record of an event, given its second and the balance after it. */
function traceOf(deed: Deed, at: number, balance: number): readonly object[] {
  if (deed.kind === 'call') {
    return [{ ...toldBy(deed.used, balance), sent: at - deed.early, finished: at + deed.late }]
  }
  const soon = { sent: at - 1, finished: at + 1 }
  if (deed.kind === 'silent') return [{ ...toldBy(deed.used, null), ...soon }]
  return deed.kind === 'lost' ? [{ ...lost(deed.bound), ...soon }] : []
}

function moveOf(deed: Deed): number {
  if ('used' in deed) return -deed.used
  return deed.kind === 'others' ? -deed.credits : deed.credits
}

function toldBy(used: number, remaining: number | null) {
  return { used, remaining, bound: 10, outcome: 'settled' }
}

function lost(bound: number) {
  return { used: null, remaining: null, bound, outcome: 'unknown' }
}

const sumOf = (lines: readonly Line[], kind: string): number =>
  lines.reduce((sum, line) => sum + (line.kind === kind ? line.credits : 0), 0)

const call = fc.record({
  kind: fc.constant('call' as const),
  used: fc.integer({ min: 1, max: 9 }),
  early: fc.integer({ min: 1, max: 90 }),
  late: fc.integer({ min: 1, max: 90 }),
})
const alone = { kind: 'call', used: 3, early: 1, late: 1 } as const

// Longer than any call is in flight, so that the next event certainly includes all previous ones.
const quiet = Array.from({ length: 10 }, () => ({ kind: 'others', credits: 0 }) as const)

describe('the statement of an account', () => {
  test('without external spend is its first balance and each call, however they overlapped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 60 }), async (deeds) => {
        const { lines, balance } = await statementOf(1000, deeds)
        const kinds = lines.map(({ kind }) => kind)
        expect(kinds).toEqual(['opening', ...deeds.map(() => 'ours')])
        expect(lines[0]?.balance).toBe(1000)
        expect(lines.at(-1)?.balance).toBe(balance)
      }),
      { numRuns: 60 },
    )
  })

  test('shows a top-up between calls in flight as one line of its size', async () => {
    const both = fc.tuple(fc.array(call, { minLength: 1 }), fc.array(call, { minLength: 1 }))
    await fc.assert(
      fc.asyncProperty(both, async ([some, more]) => {
        const deeds = [
          alone,
          ...quiet,
          ...some,
          { kind: 'top_up', credits: 50_000 } as const,
          ...more,
        ]
        const { lines } = await statementOf(1000, deeds)
        expect(lines.filter(({ kind }) => kind !== 'ours')).toMatchObject([
          { kind: 'opening', credits: 1000 },
          { kind: 'top_up', credits: 50_000 },
        ])
      }),
      { numRuns: 60 },
    )
  })

  test('adds up to the credit, whatever others spend and however many replies are lost', async () => {
    const deed: fc.Arbitrary<Deed> = fc.oneof(
      { weight: 6, arbitrary: call },
      fc.record({
        kind: fc.constantFrom('top_up' as const, 'others' as const),
        credits: fc.integer({ min: 1, max: 400 }),
      }),
      fc.record({
        kind: fc.constant('lost' as const),
        used: fc.integer({ min: 0, max: 5 }),
        bound: fc.integer({ min: 5, max: 20 }),
      }),
      fc.record({ kind: fc.constant('silent' as const), used: fc.integer({ min: 0, max: 5 }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { maxLength: 60 }), async (some) => {
        const deeds = [alone, ...some, ...quiet, alone]
        const { lines, balance } = await statementOf(9000, deeds)
        const all = lines.reduce((sum, { credits }) => sum + credits, 0)
        expect(all).toBe(lines.at(-1)?.balance)
        expect(all).toBe(balance)
        const used = deeds.reduce(
          (sum, one) => sum + (one.kind === 'call' || one.kind === 'silent' ? one.used : 0),
          0,
        )
        expect(sumOf(lines, 'ours')).toBe(-used)
        const held = deeds.reduce((sum, one) => sum + (one.kind === 'lost' ? one.bound : 0), 0)
        expect(-sumOf(lines, 'perhaps_ours')).toBeLessThanOrEqual(held)
      }),
      { numRuns: 100 },
    )
  })

  test('distinguishes a lost reply from external spend: the reserved amount is possibly ours, the rest is not', async () => {
    const lostReply = { kind: 'lost', used: 4, bound: 5 } as const
    const one = await statementOf(100, [alone, lostReply, alone])
    expect(one.lines).toEqual([
      { kind: 'opening', credits: 100, balance: 100 },
      { kind: 'ours', credits: -3, balance: 97 },
      { kind: 'perhaps_ours', credits: -4, balance: 93 },
      { kind: 'ours', credits: -3, balance: 90 },
    ])
    const two = await statementOf(100, [alone, lostReply, { kind: 'others', credits: 20 }, alone])
    expect(two.lines.slice(2)).toEqual([
      { kind: 'perhaps_ours', credits: -5, balance: 92 },
      { kind: 'others', credits: -19, balance: 73 },
      { kind: 'ours', credits: -3, balance: 70 },
    ])
  })

  test('uses the cost of an answer without a balance, seen by a later one or not yet', async () => {
    const silent = { kind: 'silent', used: 2 } as const
    const { lines } = await statementOf(100, [alone, silent, alone, silent])
    expect(lines.map(({ kind, balance }) => [kind, balance])).toEqual([
      ['opening', 100],
      ['ours', 97],
      ['ours', 95],
      ['ours', 92],
      ['ours', 90],
    ])
  })

  const live = fc.record({
    used: fc.integer({ min: 0, max: 9 }),
    rise: fc.constantFrom(0, 0, 0, 0, 0, 50, -20),
    pause: fc.constantFrom(0, 1, 3, 6, 90),
    takes: fc.integer({ min: 1, max: 15 }),
    // A lost call may be found to be settled later, and its reservation may be released.
    end: fc.oneof(
      { weight: 20, arbitrary: fc.constant('told') },
      { weight: 4, arbitrary: fc.constantFrom('silent', 'found', 'released') },
      { weight: 1, arbitrary: fc.constant('lost') },
    ),
    stored: fc.boolean(),
  })

  test('is the same with stored lines as without, whenever they were stored and whatever changed afterwards', async () => {
    let final = 0
    await fc.assert(
      fc.asyncProperty(fc.array(live, { minLength: 5, maxLength: 40 }), async (calls) => {
        await newAccount()
        for (const change of changesOf(calls)) {
          if (change === 'store') await storeStatement(database.db)
          else await database.pool.query(change.text, change.values)
        }
        const kept = await database.pool.query(wholeStatement)
        const { rows: marks } = await database.pool.query(
          'select line from statement_marks where line > 0',
        )
        final += marks.length
        await database.pool.query('delete from statement_marks')
        const { rows } = await database.pool.query(wholeStatement)
        expect(kept.rows).toEqual(rows)
      }),
      { numRuns: 80 },
    )
    expect(final).toBeGreaterThan(50)
  })

  test('is right if the clock was set back after lines were stored', async () => {
    await newAccount()
    const later = { seq: 1, sent: 0, finished: 10, used: 3, balance: 94 }
    const first = { seq: 2, sent: 5, finished: 12, used: 3, balance: 97 }
    for (const { seq, sent, finished, used, balance } of [later, first]) {
      await database.pool.query(start, [seq, sent])
      await database.pool.query(`update calls set ${ended}, ${told} where start_seq = $1`, [
        seq,
        finished,
        used,
        balance,
      ])
      await storeStatement(database.db)
    }
    const { rows } = await database.pool.query<Line>(wholeStatement)
    expect(rows.map(({ kind, balance }) => [kind, balance])).toEqual([
      ['opening', 100],
      ['ours', 97],
      ['ours', 94],
    ])
  })

  test('is right if a call changes while lines are stored', async () => {
    await statementOf(100, [alone, { kind: 'lost', used: 4, bound: 5 }, alone, ...quiet, alone])
    const client = await database.pool.connect()
    try {
      await client.query('begin')
      await client.query(
        "update calls set outcome = 'settled', credits_used = 4, credits_remaining = 93 where outcome = 'unknown'",
      )
      const storing = storeStatement(database.db)
      await expect
        .poll(async () => (await database.pool.query(waiting)).rowCount, { timeout: 60_000 })
        .toBe(1)
      await client.query('commit')
      await storing
    } finally {
      client.release()
    }
    const { rows } = await database.pool.query(wholeStatement)
    expect(rows.map(({ kind }) => kind as string)).toEqual([
      'opening',
      'ours',
      'ours',
      'ours',
      'ours',
    ])
  })
})

const wholeStatement = 'select * from analysis.statement order by account, line'

const waiting =
  "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%Stores the final lines%'"

interface LiveCall {
  readonly used: number
  readonly rise: number
  readonly pause: number
  readonly takes: number
  readonly end: string
  readonly stored: boolean
}

interface Change {
  readonly text: string
  readonly values: unknown[]
}

/** Changes of the ledger in the order in which a mill makes them: calls start, end and change later. */
function changesOf(calls: readonly LiveCall[]): (Change | 'store')[] {
  const timed: { readonly at: number; readonly change: Change | 'store' }[] = []
  let now = 0
  let balance = 1000
  for (const [index, { used, rise, pause, takes, end, stored }] of calls.entries()) {
    now += pause
    balance += rise - used
    const seq = index + 1
    timed.push({ at: now, change: { text: start, values: [seq, now] } })
    const set = (columns: string, values: readonly unknown[] = []): Change => ({
      text: `update calls set ${columns} where start_seq = $1`,
      values: [seq, ...values],
    })
    const change = {
      told: set(`${ended}, ${told}`, [now + takes, used, balance]),
      silent: set(`${ended}, outcome = 'settled', credits_used = $3`, [now + takes, used]),
    }[end]
    timed.push({
      at: now + takes,
      change: change ?? set(`${ended}, outcome = 'unknown'`, [now + takes]),
    })
    if (end === 'found' || end === 'released') {
      timed.push({ at: now + 40, change: set('washed_at = finished_at') })
    }
    if (end === 'found') {
      timed.push({ at: now + 300, change: set(`${ended}, ${told}`, [now + takes, used, balance]) })
    }
    if (stored) timed.push({ at: now + 3, change: 'store' })
  }
  return timed.toSorted((one, other) => one.at - other.at).map(({ change }) => change)
}

const ended = "finished_at = 'epoch'::timestamptz + $2 * interval '1 second'"
const told = "outcome = 'settled', credits_used = $3, credits_remaining = $4"

const start = `insert into calls (task_id, query_id, account_id, worker, sent_at, start_seq, start_total, credits_reserved, class)
  select $1, gen_random_uuid(), id, 1, 'epoch'::timestamptz + $2 * interval '1 second', $1, 0, 10, ''
  from accounts`
