import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '../../../src/core/ledger/account.ts'
import { newAccount } from './new-account.ts'
import { readBooks } from '../../../src/core/ledger/books.ts'
import { type Cost, noPeak } from '../../../src/core/ledger/prices.ts'
import {
  type CallEnding,
  changeOf,
  type FinishedCall,
  judgeTasks,
  readCalls,
  saveSettlement,
  type Settlement,
  settlementOf,
  type Signal,
} from '../../../src/core/ledger/settle.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { entry } from './books.ts'
import { apply, hearKey, type Held, measure } from './settle-model.ts'

// The rules exist twice, in `apply` and in sql/statements/settle_calls.sql: both must write the same in all cases.

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await sql`insert into lists (name, source) values ('list', 'list.csv')`.execute(database.db)
})
afterAll(() => database.close())

const whole = (max: number) => fc.nat({ max })
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const classes = ['10/-', '100/mobile'] as const
const second = 1_000
const epoch = 1_800_000_000_000

const told = fc.record({ seq: whole(40), least: whole(500), untold: whole(20) })
const account: fc.Arbitrary<Account> = fc.record({
  seq: fc.integer({ min: 40, max: 60 }),
  usedTotal: whole(5_000),
  seen: maybe(
    fc.record({
      seq: fc.integer({ min: 1, max: 40 }),
      at: whole(400).map((s) => epoch + s * second),
      remaining: fc.oneof(whole(1_000), whole(6_000)),
    }),
  ),
  doubted: fc.constant(false),
  spentSince: whole(50),
  reported: maybe(told),
  reportedNext: maybe(told),
  // The lower amounts cover the calls that end, and are too low for a balance of another account.
  reserved: fc.constantFrom(10_000, 240),
  inFlight: fc.constant(6),
  uncertain: fc.constantFrom(10_000, 560),
  drainedFloor: maybe(whole(200)),
  blindCalls: whole(5),
  probeGranted: fc.boolean(),
  lastProbeAt: maybe(whole(400).map((s) => epoch + s * second)),
  notBefore: maybe(fc.constantFrom(epoch + 200 * second)),
  rateNextAt: fc.constant(null),
  slowdowns: whole(12),
  blockedKeys: fc.uniqueArray(fc.constantFrom(...'abcfghijklm')),
  keys: fc.constantFrom([], ['z'], ['y'], ['y'], ['y']),
  foreignKeys: fc.constantFrom([], ['x']),
  external: fc.record({ now: whole(9), last: maybe(whole(9)) }),
  day: fc.constant('2027-01-15'),
  daySpent: whole(100),
  month: fc.constant('2027-01-01'),
  monthSpent: whole(100),
})

// Half of them are almost full: after one more price, they become the earlier ones.
const counted = fc.oneof(fc.integer({ min: 1, max: 27 }), fc.constantFrom(28, 29))
const peak = fc
  .record({ first: whole(60), below: whole(60), count: counted })
  .map(({ first, below, count }) => ({ first, second: Math.min(first, below), count }))
const cost: fc.Arbitrary<Cost> = fc
  .record({
    dearest: whole(60),
    cheapest: whole(5),
    seen: fc.constantFrom(0, 3, 29, 500),
    trying: fc.boolean(),
    recent: fc.oneof(fc.constant(noPeak), peak),
    earlier: fc.oneof(fc.constant(noPeak), peak),
  })
  .map((one) => (one.seen === 0 ? { ...one, ...unheard } : one))
const unheard = { dearest: 0, cheapest: 0, recent: noPeak, earlier: noPeak }

const ending: fc.Arbitrary<CallEnding> = fc.oneof(
  fc.record({
    kind: fc.constant('settled' as const),
    used: whole(70),
    remaining: maybe(whole(900)),
    priced: fc.boolean(),
  }),
  fc.constant({ kind: 'unknown' as const }),
  fc.constant({ kind: 'unsent' as const }),
)
const inFlight = { outcome: null, washed: false }
const unknown = { outcome: 'unknown', washed: false }
const outcome: fc.Arbitrary<FinishedCall> = fc
  .record({
    start_seq: fc.integer({ min: 1, max: 60 }),
    sent_at_ms: whole(400).map((s) => epoch + s * second),
    start_total: whole(4_000),
    credits_reserved: whole(40),
    class: fc.constantFrom(...classes),
    was: fc.constantFrom(inFlight, unknown, { ...unknown, washed: true }),
    ending,
  })
  .map(({ was, ending: now, ...call }) => ({ call: { ...call, ...was }, entry: { ending: now } }))
const signal: fc.Arbitrary<Signal> = fc.oneof(
  fc.constant({ kind: 'welcome' as const }),
  fc.record({ kind: fc.constant('key_refused' as const), key: fc.constantFrom('a', 'd', 'e') }),
  fc.record({
    kind: fc.constant('no_credit' as const),
    seq: fc.integer({ min: 1, max: 60 }),
    startedAt: whole(400).map((s) => epoch + s * second),
  }),
  fc.record({
    kind: fc.constant('slow_down' as const),
    startedAt: whole(400).map((s) => epoch + s * second),
    waitMs: maybe(fc.constantFrom(0, 2_000, 50_000)),
  }),
)
const heldCall = fc.record({
  unknownAt: whole(400).map((s) => epoch + s * second),
  bound: whole(80),
  class: fc.constantFrom(...classes),
})

const life = fc.record({
  account,
  stretch: fc.record({ ended: maybe(whole(40)), base: whole(60_000) }),
  /** Another worker is alive, and buys with the key `y`. */
  beside: fc.boolean(),
  costs: fc.uniqueArray(fc.tuple(fc.constantFrom(...classes), cost), {
    selector: ([name]) => name,
    maxLength: 2,
  }),
  outcomes: fc.uniqueArray(outcome, { selector: ({ call }) => call.start_seq, maxLength: 6 }),
  signals: fc.array(signal, { maxLength: 4 }),
  held: fc.array(heldCall, { maxLength: 4 }),
  floor: whole(150),
})

type Life = typeof life extends fc.Arbitrary<infer T> ? T : never

/** Creates the account, its prices and its lost calls at random; returns its id and the lost calls with their ids. */
async function enter({
  account: drawn,
  stretch = { ended: null, base: 0 },
  beside = false,
  costs,
  held,
}: Pick<Life, 'account' | 'costs' | 'held'> & Partial<Pick<Life, 'stretch' | 'beside'>>) {
  const { db } = database
  const { rows } = await sql<{ id: number }>`
    insert into accounts (
      name, kind, seq, used_total, obs_seq, obs_at, obs_remaining, spent_since, told_seq, told_least, told_untold,
      next_told_seq, next_told_least, next_told_untold, reserved, in_flight, uncertain, drained_floor, blind_calls,
      probe_granted, last_probe_at, not_before, slowdowns, blocked_keys, day, day_spent, month, month_spent, keys, foreign_keys, external_ended,
      external_base, external_now, external_last
    )
    values (
      gen_random_uuid(), 'live', ${drawn.seq}, ${drawn.usedTotal}, ${drawn.seen?.seq ?? null},
      to_timestamp(${drawn.seen?.at ?? null}::float8 / 1000), ${drawn.seen?.remaining ?? null}, ${drawn.spentSince},
      ${drawn.reported?.seq ?? null}, ${drawn.reported?.least ?? null}, ${drawn.reported?.untold ?? 0},
      ${drawn.reportedNext?.seq ?? null}, ${drawn.reportedNext?.least ?? null}, ${drawn.reportedNext?.untold ?? 0},
      ${drawn.reserved}, ${drawn.inFlight}, ${drawn.uncertain}, ${drawn.drainedFloor}, ${drawn.blindCalls},
      ${drawn.probeGranted}, to_timestamp(${drawn.lastProbeAt}::float8 / 1000), to_timestamp(${drawn.notBefore}::float8 / 1000),
      ${drawn.slowdowns},
      ${drawn.blockedKeys}, ${drawn.day}, ${drawn.daySpent}, ${drawn.month}, ${drawn.monthSpent}, ${drawn.keys},
      ${drawn.foreignKeys}, ${stretch.ended}, ${stretch.base}, ${drawn.external.now}, ${drawn.external.last}
    )
    returning id`.execute(db)
  const id = rows[0]?.id ?? 0
  if (beside) {
    await sql`
      insert into workers (account_id, key, host, pid, floor, concurrency, lease_until)
      values (${id}, 'y', 'there', 2, 0, 1, now() + interval '1 hour')`.execute(db)
  }
  for (const [name, { dearest, cheapest, seen, trying, recent, earlier }] of costs) {
    await sql`
      insert into account_costs
      values (
        ${id}, ${name}, ${seen === 0 ? null : dearest}, ${seen === 0 ? null : cheapest}, ${seen}, ${trying},
        ${recent.first}, ${recent.second}, ${recent.count}, ${earlier.first}, ${earlier.second}, ${earlier.count}
      )`.execute(db)
  }
  const { rows: run } = await sql<{ id: number }>`
    insert into runs (list_id, run_date, kind, state, uncertain) values (1, current_date, 'nightly', 'open', 10000)
    returning id`.execute(db)
  const calls: Held[] = []
  for (const [place, { unknownAt, bound, class: name }] of held.entries()) {
    const { rows: made } = await sql<{ id: number }>`
      with task as (
        insert into tasks (run_id, query_id, slice) values (${run[0]?.id ?? 0}, gen_random_uuid(), 0) returning id, query_id
      )
      insert into calls (
        task_id, query_id, account_id, worker, sent_at, unknown_at, start_seq, start_total, credits_reserved, class, outcome
      )
      select
        id, query_id, ${rows[0]?.id ?? 0}, 1, now(), to_timestamp(${unknownAt}::float8 / 1000), ${place}, 0, ${bound},
        ${name}, 'unknown'
      from task
      returning id`.execute(db)
    calls.push({ call: made[0]?.id ?? 0, unknownAt, bound, class: name })
  }
  return { id, calls, run: run[0]?.id ?? 0 }
}

test('the statement that settles calls follows the rules, whatever the ledger contains', async () => {
  const { db } = database
  let strange = 0
  await fc.assert(
    fc.asyncProperty(life, async (drawn) => {
      const { id, calls, run } = await enter(drawn)
      const { now_ms: earliest } = await readBooks(db, id)
      const change = changeOf(drawn.outcomes, drawn.signals)
      const settlement: Settlement = {
        ...{ account_id: id, key: 'z', floor: drawn.floor, jitter: 0 },
        ...{ change, stops: [], calls: [], tasks: [] },
        ...{
          runs: [{ run, spent: 0, uncertain: 0, reserved: 0 }],
        },
      }
      await saveSettlement(db, settlement, [])
      const books = await readBooks(db, id)
      const written = books.account
      const liveKeys = drawn.beside ? ['y'] : []
      const key = { key: 'z', liveKeys, now: books.now_ms }
      const { heard, keys, foreign } = hearKey(drawn.account, change, key)
      if (foreign) strange += 1
      const expected = apply(drawn.account, new Map(drawn.costs), {
        ...{ change: heard, held: calls, floor: drawn.floor, jitter: 0 },
        now: books.now_ms,
      })
      // The statement read the clock after `earliest` and before `books`, so its wait may end earlier by that much.
      const { notBefore } = written
      const before = (expected.account.notBefore ?? 0) - (notBefore ?? 0)
      expect(before).toBeGreaterThanOrEqual(-1)
      expect(before).toBeLessThanOrEqual(books.now_ms - earliest + 1)
      const comparable = (one: Account) => ({
        ...one,
        notBefore,
        blockedKeys: one.blockedKeys.toSorted(),
      })
      const washed = calls.flatMap(({ call, bound }) =>
        expected.washed.includes(call) ? bound : [],
      )
      const beyond = measure(drawn.account, drawn.stretch, {
        ...{ change: heard, costs: expected.costs },
        washed: washed.reduce((sum, bound) => sum + bound, 0),
        known: drawn.account.keys.length === 0 || drawn.account.keys.includes('z'),
      })
      expect(comparable(written)).toEqual({
        ...comparable({ ...expected.account, keys, external: beyond.external }),
        foreignKeys: foreign ? [...drawn.account.foreignKeys, 'z'] : drawn.account.foreignKeys,
      })
      const { rows: stretches } = await sql`
        select external_ended as ended, external_base as base from accounts where id = ${id}`.execute(
        db,
      )
      expect(stretches).toEqual([beyond.stretch])
      const known = (costs: ReadonlyMap<string, Cost>) => Object.fromEntries(costs)
      expect(known(books.costs)).toEqual(known(expected.costs))
      const { rows } = await sql<{ id: number; bound: number; washed: boolean }>`
        select id, credits_reserved as bound, washed_at is not null as washed
        from calls
        where account_id = ${id}
        order by id`.execute(db)
      const lowered = new Map(expected.lowered.map(({ call, bound }) => [call, bound]))
      expect(rows).toEqual(
        calls.map(({ call, bound }) => ({
          id: call,
          bound: lowered.get(call) ?? bound,
          washed: expected.washed.includes(call),
        })),
      )
      const freed = calls.reduce((sum, { call, bound }) => {
        return sum + bound - (lowered.get(call) ?? bound)
      }, 0)
      const { rows: runs } = await sql`select spent, uncertain from runs where id = ${run}`.execute(
        db,
      )
      expect(runs).toEqual([{ spent: 0, uncertain: 10_000 - freed }])
    }),
    { numRuns: 250, seed: 11 },
  )
  expect(strange).toBeGreaterThan(2)
})

test('a settlement based on a call that has changed since writes nothing', async () => {
  const { db } = database
  const held = [{ unknownAt: epoch, bound: 7, class: '10/-' as const }]
  const { id, calls, run } = await enter({
    account: { ...newAccount, uncertain: 7, day: '2027-01-15' },
    costs: [],
    held,
  })
  const change = changeOf([], [])
  const { call } = calls[0] ?? { call: 0 }
  const settlement: Settlement = {
    ...{ account_id: id, key: 'z', floor: 0, jitter: 0 },
    ...{ change: { ...change, used: 5 }, stops: [], tasks: [] },
    runs: [{ run, spent: 5, uncertain: 0, reserved: 0 }],
    calls: [
      {
        ...{ id: call, mark: undefined, was: undefined, was_washed: false, bound: 7 },
        ...{ outcome: 'settled', http_status: 200, credits_used: 5, credits_remaining: 1 },
        ...{ error_code: undefined, error_message: undefined },
      },
    ],
  }
  await expect(saveSettlement(db, settlement, [])).rejects.toMatchObject({ code: 'QM001' })
  const books = await readBooks(db, id)
  expect(books.account).toMatchObject({ usedTotal: 0, uncertain: 7 })
})

test('a settlement of a call whose number the database has given to another query writes nothing', async () => {
  const { db } = database
  const { id, settlement } = await answerLate()
  const calls = settlement.calls.map((call) => ({ ...call, mark: randomUUID() }))
  const stranger = saveSettlement(db, { ...settlement, calls }, [])
  await expect(stranger).rejects.toMatchObject({ code: 'QM001' })
  expect((await readBooks(db, id)).account).toMatchObject({ usedTotal: 0, uncertain: 7 })
  await saveSettlement(db, settlement, [])
  expect((await readBooks(db, id)).account).toMatchObject({ uncertain: 0 })
})

/** An account with seven credits reserved for a call that was given up, and the effect of its late answer. */
async function answerLate() {
  const { db } = database
  const owing = { ...newAccount, uncertain: 7, day: '2027-01-15' }
  const held = [{ unknownAt: epoch, bound: 7, class: '10/-' as const }]
  const { id, calls } = await enter({ account: owing, costs: [], held })
  const { call } = calls[0] ?? { call: 0 }
  const [read] = await readCalls(db, id, [call])
  if (read === undefined) throw new Error('expected the call that was entered')
  const matched = [{ entry: entry(call, { call: { id: call, mark: read.mark } }), call: read }]
  const changes = judgeTasks(matched, { rebuy: true, jitter: 0 })
  const clerk = { account: id, key: 'key', floor: 0, rebuy: true }
  return { id, settlement: settlementOf(clerk, { matched, changes, jitter: 0 }) }
}

test('a late answer releases the reservation of its call once, even if it would be written off at that moment', async () => {
  const { db } = database
  const { id, settlement } = await answerLate()
  const newest = {
    seq: 50,
    started_at_ms: epoch + 400 * second,
    start_total: 0,
    used: 3,
    remaining: 97,
  }
  await saveSettlement(db, { ...settlement, change: { ...settlement.change, newest } }, [])
  const books = await readBooks(db, id)
  expect(books.account).toMatchObject({
    uncertain: 0,
    usedTotal: 3,
    seen: { remaining: 97 },
  })
})

test.each([
  ['its call was washed out', sql`update calls set washed_at = now()`],
  ['less is held for its call', sql`update calls set credits_reserved = 6`],
  ['its call was answered', sql`update calls set outcome = 'settled'`],
  ['its task changed', sql`update tasks set attempts = attempts + 1`],
])('a late answer changes nothing if in the meantime %s, and is computed again', async (_, by) => {
  const { db } = database
  const { id, settlement } = await answerLate()
  await by.execute(db)
  await expect(saveSettlement(db, settlement, [])).rejects.toMatchObject({ code: 'QM001' })
  const books = await readBooks(db, id)
  expect(books.account).toMatchObject({ usedTotal: 0, uncertain: 7 })
})
