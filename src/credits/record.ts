import { storing } from '../store/answers/answers.ts'
import type { Books } from '../store/ledger/books.ts'
import type { Database } from '../store/database.ts'
import {
  readForSettle,
  saveSettlement,
  type HeldCall,
  type OpenCall,
  type Settlement,
} from '../store/ledger/settlement.ts'
import { travel, type Trip } from '../store/pipelining.ts'
import type { Costs } from './account.ts'
import { accountOf, changedCosts, costsOf, rowOf } from './rows.ts'
import type { Clerk, Entry, Matched, Recorded } from './entry.ts'
import { settle, type CallOutcome, type Settled, type Signal } from './settle.ts'
import { stopsOf } from './stops.ts'
import { nextTry, type ChangedTask, type Patience } from './tries.ts'

/** Answers, money and task states in one transaction: a received answer is never bought again. */
export async function record(
  db: Database,
  clerk: Clerk,
  entries: readonly Entry[],
): Promise<readonly Recorded[]> {
  return travel(db, async (trip) => {
    const answers = entries.flatMap(({ answer }) => (answer === null ? [] : [answer]))
    let stored: Promise<unknown> = Promise.resolve()
    for (const query of storing(answers)) {
      // Very large bodies go one statement after the other: sent together they would all be in memory.
      await stored
      stored = trip.run(query)
    }
    const calls = entries.map(({ call }) => call)
    const read = await readForSettle(trip, clerk.account, calls)
    return writeBooks(trip, clerk, { entries, ...read })
  })
}

interface Reading {
  readonly entries: readonly Entry[]
  readonly books: Books
  readonly calls: readonly OpenCall[]
  readonly held: readonly HeldCall[]
}

async function writeBooks(trip: Trip, clerk: Clerk, reading: Reading) {
  const { books, held } = reading
  const matched = matchCalls(reading)
  const costs = costsOf(books)
  const jitter = Math.random()
  const settled = settle(accountOf(books.account), costs, {
    outcomes: matched.map(outcomeOf),
    signals: matched.flatMap(({ entry, call }) => signalsOf(entry, call, clerk)),
    held: held
      .filter(({ call }) => !matched.some((match) => match.call.id === call))
      .map(({ call, unknown_at_ms, bound }) => ({ call, unknownAt: unknown_at_ms, bound })),
    now: books.now_ms,
    floor: Math.max(clerk.floor, books.floor),
    jitter,
  })
  const changes = judgeTasks(matched, { rebuy: clerk.rebuy, jitter })
  await saveSettlement(trip, {
    ...stopsOf(matched, { clerk, books, settled }),
    ...settlementOf(clerk, { matched, changes, settled, before: costs }),
  })
  return reading.calls.map((call) => ({
    call: call.id,
    task: call.task_id,
    state: changes.get(call.task_id)?.state ?? call.state,
    waitMs: changes.get(call.task_id)?.waitMs ?? null,
  }))
}

/** An answer that was written down before (delivered twice, or replayed from a file) changes nothing. */
function matchCalls({ entries, calls }: Reading): Matched[] {
  const rows = new Map(calls.map((call) => [call.id, call]))
  return entries.flatMap((entry) => {
    const call = rows.get(entry.call)
    if (call === undefined || (call.outcome !== null && call.outcome !== 'unknown')) return []
    // Given up before, and still nobody knows more: neither the answer nor its price.
    const knownNow = entry.ending.kind === 'settled' || entry.effect.kind === 'answered'
    if (call.outcome === 'unknown' && !knownNow) return []
    return [{ entry, call }]
  })
}

function outcomeOf({ entry, call }: Matched): CallOutcome {
  return {
    seq: call.start_seq,
    startedAt: call.sent_at_ms,
    startTotal: call.start_total,
    bound: call.credits_reserved,
    class: call.class,
    was: call.outcome === null ? 'in_flight' : call.washed ? 'washed' : 'unknown',
    now: entry.ending,
  }
}

function signalsOf({ signal }: Entry, call: OpenCall, { key }: Clerk): Signal[] {
  const startedAt = call.sent_at_ms
  if (signal === null) return []
  if (signal === 'welcome') return [{ kind: 'welcome' }]
  if (signal === 'key_refused') return [{ kind: 'key_refused', key }]
  if (signal === 'no_credit') return [{ kind: 'no_credit', seq: call.start_seq, startedAt }]
  return [{ kind: 'slow_down', startedAt, waitMs: signal.waitMs }]
}

function judgeTasks(matched: readonly Matched[], patience: Patience): Map<number, ChangedTask> {
  const changes = new Map<number, ChangedTask>()
  for (const { entry, call } of matched) {
    const tries = changes.get(call.task_id) ?? call
    const change = nextTry(
      {
        state: tries.state,
        attempts: tries.attempts,
        ambiguous: tries.ambiguous,
        deaths: tries.deaths,
      },
      entry.effect,
      patience,
    )
    if (change !== null) changes.set(call.task_id, change)
  }
  return changes
}

function settlementOf(
  { account }: Clerk,
  {
    matched,
    changes,
    settled,
    before,
  }: {
    matched: readonly Matched[]
    changes: ReadonlyMap<number, ChangedTask>
    settled: Settled
    before: Costs
  },
): Omit<Settlement, 'stops' | 'cleared'> {
  return {
    account_id: account,
    account: rowOf(settled.account),
    calls: matched.map(({ entry, call }) => ({
      id: call.id,
      outcome: entry.ending.kind,
      http_status: entry.httpStatus,
      credits_used: entry.creditsUsed,
      credits_remaining: entry.creditsRemaining,
      error_code: entry.code,
      error_message: entry.message,
    })),
    washed: settled.washed,
    tasks: [...changes].map(([task, change]) => taskRow(task, change, answeredBy(matched, task))),
    runs: purses(matched),
    costs: changedCosts(before, settled.costs),
  }
}

/** The first call of the task that brought an answer. */
function answeredBy(matched: readonly Matched[], task: number): number | null {
  const answers = matched.filter(
    ({ entry, call }) => call.task_id === task && entry.effect.kind === 'answered',
  )
  return answers.length === 0 ? null : Math.min(...answers.map(({ call }) => call.id))
}

function taskRow(id: number, change: ChangedTask, search: number | null) {
  return {
    id,
    state: change.state,
    search_id: search,
    attempts: change.attempts,
    ambiguous: change.ambiguous,
    deaths: change.deaths,
    wait_ms: change.waitMs,
    error_code: change.code,
    error_message: change.message,
  }
}

function purses(matched: readonly Matched[]): { run: number; spent: number; reserved: number }[] {
  const sums = new Map<number, { run: number; spent: number; reserved: number }>()
  for (const { entry, call } of matched) {
    const sum = sums.get(call.run_id) ?? { run: call.run_id, spent: 0, reserved: 0 }
    const bound = call.credits_reserved
    // A call given up counts with its bound until its answer tells more.
    if (call.outcome === null) sum.reserved -= bound
    else sum.spent -= bound
    if (entry.ending.kind === 'settled') sum.spent += entry.ending.used
    if (entry.ending.kind === 'unknown') sum.spent += bound
    sums.set(call.run_id, sum)
  }
  return [...sums.values()]
}
