import type { OpenCall, Settlement } from '../store/ledger/settlement.ts'
import { constants } from './account.ts'
import { changeOf, type CallOutcome, type Signal } from './change.ts'
import type { Clerk, Entry, Matched } from './entry.ts'
import { changeRow, priceRows } from './rows.ts'
import { stopsOf } from './stops.ts'
import { nextTry, type ChangedTask, type Patience } from './tries.ts'

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

function signalsOf({ signal }: Entry, call: OpenCall, key: string): Signal[] {
  const startedAt = call.sent_at_ms
  if (signal === null) return []
  if (signal === 'welcome') return [{ kind: 'welcome' }]
  if (signal === 'key_refused') return [{ kind: 'key_refused', key }]
  if (signal === 'no_credit') return [{ kind: 'no_credit', seq: call.start_seq, startedAt }]
  return [{ kind: 'slow_down', startedAt, waitMs: signal.waitMs }]
}

/** A task as it is judged now, with the version of its row that this rests on. */
export interface Judged extends ChangedTask {
  readonly version: string
}

/** What the ends of calls mean for their tasks. */
export function judgeTasks(matched: readonly Matched[], patience: Patience): Map<number, Judged> {
  const changes = new Map<number, Judged>()
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
    if (change !== null) changes.set(call.task_id, { ...change, version: call.version })
  }
  return changes
}

/** What the ends of calls mean for the books, in the spelling of the statement that writes it. */
export function settlementOf(
  { account, key, floor }: Clerk,
  {
    matched,
    changes,
    jitter,
  }: { matched: readonly Matched[]; changes: ReadonlyMap<number, Judged>; jitter: number },
): Settlement {
  const signals = matched.flatMap(({ entry, call }) => signalsOf(entry, call, key))
  const change = changeOf(matched.map(outcomeOf), signals)
  const answers = answersOf(matched)
  return {
    account_id: account,
    key,
    floor,
    jitter,
    grace_ms: constants.graceMs,
    trusted_after: constants.trustedAfter,
    change: changeRow(change),
    prices: priceRows(change),
    stops: stopsOf(matched),
    calls: matched.map(callRow),
    tasks: [...changes].map(([task, judged]) => taskRow(task, judged, answers.get(task))),
    runs: purses(matched),
  }
}

function callRow({ entry, call }: Matched): Settlement['calls'][number] {
  return {
    id: call.id,
    mark: call.mark ?? undefined,
    was: call.outcome ?? undefined,
    was_washed: call.washed,
    bound: call.credits_reserved,
    outcome: entry.ending.kind,
    http_status: entry.httpStatus ?? undefined,
    credits_used: entry.creditsUsed ?? undefined,
    credits_remaining: entry.creditsRemaining ?? undefined,
    error_code: entry.code ?? undefined,
    error_message: entry.message ?? undefined,
  }
}

/** The first call of each task that brought an answer. */
function answersOf(matched: readonly Matched[]): Map<number, number> {
  const answers = new Map<number, number>()
  for (const { entry, call } of matched) {
    if (entry.effect.kind !== 'answered') continue
    answers.set(call.task_id, Math.min(call.id, answers.get(call.task_id) ?? call.id))
  }
  return answers
}

function taskRow(
  id: number,
  change: Judged,
  search: number | undefined,
): Settlement['tasks'][number] {
  return {
    id,
    version: change.version,
    state: change.state,
    search_id: search,
    attempts: change.attempts,
    ambiguous: change.ambiguous,
    deaths: change.deaths,
    wait_ms: change.waitMs ?? undefined,
    error_code: change.code ?? undefined,
    error_message: change.message ?? undefined,
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
