// Settles finished calls: computes and writes their effects on the account, tasks and runs.

import { otherQuery } from '../../base/answer.ts'
import { type Database, travel } from '../../base/database/database.ts'
import { type CompiledQuery } from '../../base/database/kysely.ts'
import { readRows, statement } from '../../base/database/sql-file.ts'
import { codeOf, unhandled } from '../../base/errors.ts'
import { type StoredAnswer, storing } from '../answers/store.ts'
import { constants } from './account.ts'
import { takeRuns } from './books.ts'
import { higher, noPeak, type ReportedCosts } from './prices.ts'
import {
  type ChangedTask,
  type Effect,
  nextTry,
  type Patience,
  type Tries,
} from './retry-policy.ts'

/** A finished call and its effect on the credits. The call may have been given up earlier. */
export interface FinishedCall {
  readonly call: Pick<
    OpenCall,
    'start_seq' | 'sent_at_ms' | 'start_total' | 'credits_reserved' | 'class' | 'outcome' | 'washed'
  >
  readonly entry: { readonly ending: CallEnding }
}

export type CallEnding =
  | {
      readonly kind: 'settled'
      readonly used: number
      readonly remaining: number | null
      /** True if the cost counts as a price in its price class; false for a free rejection. */
      readonly priced: boolean
      /** True if the answer reported a balance but no price. The settlement then estimates the price. */
      readonly unbilled?: true
    }
  /** The credits stay reserved, because the call may have been charged. */
  | { readonly kind: 'unknown' }
  /** The call was definitely not sent. */
  | { readonly kind: 'unsent' }

/** Information from the API about the account, except its credits. */
export type Signal =
  | { readonly kind: 'key_refused'; readonly key: string }
  | { readonly kind: 'no_credit'; readonly seq: number; readonly startedAt: number }
  | { readonly kind: 'slow_down'; readonly startedAt: number; readonly waitMs: number | null }
  | { readonly kind: 'welcome' }
  | { readonly kind: 'wrong_answer' }

export type Change = ReturnType<typeof noChange>

/**
 * Changes that finished calls make to an account. Concurrent writes cannot invalidate these sums and signals, so the
 * account need not be locked to compute them.
 */
function noChange() {
  return {
    reserved: 0,
    in_flight: 0,
    uncertain: 0,
    used: 0,
    /** Credits added to the daily and the monthly total. */
    day_spent: 0,
    newest: null as NewestBalance | null,
    least: null as number | null,
    /** Credits used by answers that reported no balance. */
    untold: 0,
    prices: [] as readonly ReportedCosts[],
    refused_keys: [] as readonly string[],
    no_credit: null as { readonly seq: number; readonly started_at_ms: number } | null,
    slow_down: null as SlowDown | null,
    welcome: false,
    /** Number of answers to a different query. */
    wrong_answers: 0,
  }
}

/** Balance reported by the newest call in the batch. */
interface NewestBalance {
  readonly seq: number
  readonly started_at_ms: number
  readonly start_total: number
  readonly used: number
  readonly remaining: number
}

/** Rate-limit information from one or more replies. */
export interface SlowDown {
  readonly started_at_ms: number
  /** Longest wait requested by a reply, or null if no reply requested a wait. */
  readonly wait_ms: number | null
  /** True if our own backoff also applies, because a reply specified no wait time. */
  readonly unnamed: boolean
}

export function changeOf(ended: readonly FinishedCall[], signals: readonly Signal[]): Change {
  const change: Change = { ...noChange(), prices: sumCosts(ended) }
  for (const one of ended) book(change, one)
  for (const signal of signals) applySignal(change, signal)
  return change
}

const noCosts = { ...noPeak, cheapest: Number.MAX_SAFE_INTEGER, tried: false }

function sumCosts(ended: readonly FinishedCall[]): readonly ReportedCosts[] {
  const costs = new Map<string, ReportedCosts>()
  for (const { call, entry } of ended) {
    const { ending } = entry
    const price = ending.kind === 'settled' && ending.priced ? ending.used : null
    const before = costs.get(call.class) ?? { class: call.class, ...noCosts }
    const peak = price === null ? noPeak : { first: price, second: 0, count: 1 }
    costs.set(call.class, {
      ...{ ...before, ...higher(before, peak) },
      cheapest: Math.min(before.cheapest, price ?? Infinity),
      tried: before.tried || call.outcome === null,
    })
  }
  return [...costs.values()]
}

function book(change: Change, { call, entry: { ending } }: FinishedCall): void {
  const { start_seq: seq, credits_reserved: bound, washed } = call
  const inFlight = call.outcome === null
  if (inFlight) {
    change.reserved -= bound
    change.in_flight -= 1
  } else if (!washed) change.uncertain -= bound
  // A call that was given up was already counted as spent, possibly on an earlier day.
  const counted = inFlight ? 0 : bound
  if (ending.kind === 'unknown') {
    if (inFlight || !washed) change.uncertain += bound
    change.day_spent += bound - counted
  }
  if (ending.kind !== 'settled') return
  const { used, remaining } = ending
  change.used += used
  change.day_spent += Math.max(0, used - counted)
  if (remaining === null) change.untold += used
  else {
    change.least = Math.min(change.least ?? remaining, remaining)
    // The balance from the call that started last is used, even if a different balance arrives later.
    if (seq > (change.newest?.seq ?? 0)) {
      const { sent_at_ms: started_at_ms, start_total } = call
      change.newest = { seq, started_at_ms, start_total, used, remaining }
    }
  }
}

function applySignal(change: Change, signal: Signal): void {
  switch (signal.kind) {
    case 'welcome':
      change.welcome = true
      return
    case 'wrong_answer':
      change.wrong_answers += 1
      return
    case 'key_refused':
      change.refused_keys = [...new Set([...change.refused_keys, signal.key])]
      return
    case 'no_credit': {
      const { seq, startedAt } = signal
      if (seq > (change.no_credit?.seq ?? 0)) change.no_credit = { seq, started_at_ms: startedAt }
      return
    }
    case 'slow_down': {
      const { startedAt, waitMs } = signal
      const before = change.slow_down
      change.slow_down = {
        started_at_ms: Math.max(before?.started_at_ms ?? startedAt, startedAt),
        wait_ms:
          waitMs === null ? (before?.wait_ms ?? null) : Math.max(before?.wait_ms ?? 0, waitMs),
        unnamed: before?.unnamed === true || waitMs === null,
      }
      return
    }
    default:
      throw unhandled('signal', signal)
  }
}

/** Error code raised by a statement if the account's rows have changed. */
export const booksChanged = 'QM001'

export interface OpenCall extends Tries {
  readonly id: number
  readonly mark: string | null
  readonly outcome: string | null
  readonly washed: boolean
  readonly start_seq: number
  readonly sent_at_ms: number
  readonly start_total: number
  readonly credits_reserved: number
  /** Lowest recently reported balance for the account, or null if none was reported. */
  readonly least_told: number | null
  readonly class: string
  readonly query_id: string
  readonly task_id: number
  /** Version of the task's row, which changes whenever the row is updated. */
  readonly version: string
  readonly run_id: number
}

/** Reads an account's finished calls without locking any row. */
export function readCalls(db: Database, account: number, calls: readonly number[]) {
  return readRows<OpenCall>(db, 'read_calls', { calls, account })
}

export function settling(settlement: Settlement): CompiledQuery {
  const [calls, tasks] = [byNumber(settlement.calls), byNumber(settlement.tasks)]
  const { slowdownMs, longestSlowdownMs, externalCalls, oldestSightingMs } = constants
  return statement('settle_calls', {
    settlement: JSON.stringify({ ...settlement, calls, tasks }),
    grace_ms: constants.graceMs,
    trusted_after: constants.trustedAfter,
    slowdown_ms: slowdownMs,
    longest_slowdown_ms: longestSlowdownMs,
    first_external_calls: externalCalls.first,
    external_calls: externalCalls.whole,
    oldest_sighting_ms: oldestSightingMs,
  })
}

function byNumber<T extends { readonly id: number }>(items: readonly T[]): Record<string, T> {
  return Object.fromEntries(items.map((item) => [item.id, item]))
}

/**
 * Stores answers and their effects on credits, tasks and runs, and commits. All statements are sent at once, and only
 * the last statements lock the account. Fails with a conflict code if a call or task has changed.
 */
export async function saveSettlement(
  db: Database,
  settlement: Settlement,
  answers: Iterable<CompiledQuery>,
): Promise<void> {
  await travel(db, async (trip) => {
    let stored: Promise<unknown> = Promise.resolve()
    for (const query of answers) {
      // Very large bodies are sent one at a time, because together they would use too much memory.
      await stored
      stored = trip.run(query)
    }
    // Locks the account's row, and then the rows of the runs. Only the holder of these locks writes, so the next
    // statement sees all earlier changes. All statements are sent together, so no lock is held while
    // PostgreSQL waits for this process.
    void trip.run(statement('lock_account', { account: settlement.account_id }))
    takeRuns(
      trip,
      settlement.runs.map(({ run }) => run),
    )
    await trip.end(settling(settlement))
  })
}

/** Maximum number of tries to record a batch. A call or its task changes only if another worker abandons the call. */
const mostTries = 5

/**
 * Records answers, credits and task states in one transaction, so that a received answer is never bought again. Effects
 * are computed without locks, and written only if the calls have not changed.
 */
export async function settleCalls(db: Database, rules: SettlementRules, entries: readonly Entry[]) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await settleOnce(db, rules, entries)
    } catch (error) {
      if (codeOf(error) !== booksChanged || tries === mostTries) throw error
    }
  }
}

async function settleOnce(db: Database, rules: SettlementRules, entries: readonly Entry[]) {
  const ids = entries.map(({ call }) => call.id)
  const { known, matched, strangers } = matchEntries(
    entries,
    await readCalls(db, rules.account, ids),
  )
  const jitter = Math.random()
  const changes = judgeTasks(matched, { rebuy: rules.rebuy, jitter })
  if (matched.length > 0) {
    const answers = matched.flatMap(({ entry }) => (entry.answer === null ? [] : [entry.answer]))
    await saveSettlement(db, settlementOf(rules, { matched, changes, jitter }), storing(answers))
  }
  return {
    recorded: known.map(({ call }) => ({
      call: call.id,
      task: call.task_id,
      state: changes.get(call.task_id)?.state ?? call.state,
      /** Milliseconds until the task may be retried, or null if the task has ended or the time is unknown. */
      waitMs: changes.get(call.task_id)?.wait_ms ?? null,
    })),
    // Entries for calls that are missing because the database was restored or replaced.
    strangers,
  }
}

/** Identifies a call. The mark is null for calls from older releases. */
export interface CallName {
  readonly id: number
  readonly mark: string | null
}

/** A finished call, with everything that the ledger stores about it. */
export interface Entry {
  readonly call: CallName
  readonly ending: CallEnding
  readonly effect: Effect
  readonly signal:
    | 'key_refused'
    | 'no_credit'
    | 'welcome'
    | { readonly waitMs: number | null }
    | null
  readonly httpStatus: number | null
  readonly creditsUsed: number | null
  readonly creditsRemaining: number | null
  readonly code: string | null
  readonly message: string | null
  readonly answer: StoredAnswer | null
}

export interface SettlementRules {
  readonly account: number
  /** Fingerprint of the current key. Replacing the key file changes this value. */
  key: string
  readonly floor: number
  readonly rebuy: boolean
}

/** State of a call's task after the call was recorded. */
export type SettledCall = Awaited<ReturnType<typeof settleOnce>>['recorded'][number]

export interface Matched {
  readonly entry: Entry
  readonly call: OpenCall
  /** Estimated cost, if the answer reported no cost. */
  readonly estimate?: number
}

/** Matches entries to the call rows. `matched` contains at most one new entry for each call. */
export function matchEntries(entries: readonly Entry[], calls: readonly OpenCall[]) {
  const rows = new Map(calls.map((row) => [row.id, row]))
  const known = entries.flatMap((entry): Matched[] => {
    const call = rows.get(entry.call.id)
    return call !== undefined && isOf(entry, call) ? [{ entry, call }] : []
  })
  const ours = new Set(known.map(({ entry }) => entry))
  return {
    known,
    matched: estimatePrices(once(known.filter(addsInformation))),
    strangers: entries.filter((entry) => !ours.has(entry)),
  }
}

/** True if an entry records the given call. A restored database reuses ids, so the mark must match too. */
function isOf({ call, answer }: Entry, row: OpenCall): boolean {
  return call.mark === row.mark && (answer?.search?.queryId ?? row.query_id) === row.query_id
}

/** False for an answer that was already recorded, for example because it was delivered twice. */
function addsInformation({ entry, call }: Matched): boolean {
  if (call.outcome === null) return true
  // The call was abandoned, so only an answer or a price adds information. The attempt and its
  // credits were already counted, even if the call was never sent.
  const answered = entry.effect.kind === 'answered'
  return call.outcome === 'unknown' && (answered || entry.ending.kind === 'settled')
}

/**
 * Estimates the cost of answers without a price as the decrease from the lowest known balance, minus the cost of
 * other calls. If no balance is known, the estimate is the reserved amount.
 */
function estimatePrices(ended: readonly Matched[]): Matched[] {
  const reported = ended.flatMap(({ entry: { creditsRemaining } }) => creditsRemaining ?? [])
  const known = ended[0]?.call.least_told ?? null
  const billed = ended.reduce((sum, { entry }) => sum + (entry.creditsUsed ?? 0), 0)
  let fall = known === null ? null : Math.max(0, known - Math.min(known, ...reported) - billed)
  let left = ended.filter(({ entry }) => isUnbilled(entry.ending)).length
  if (left === 0) return [...ended]
  return ended.map(({ entry, call }) => {
    const { ending } = entry
    if (!isUnbilled(ending)) return { entry, call }
    const used = fall === null ? call.credits_reserved : Math.ceil(fall / left)
    if (fall !== null) fall -= used
    left -= 1
    const settled = { kind: 'settled', used, remaining: ending.remaining } as const
    const priced = known !== null
    return { entry: { ...entry, ending: { ...settled, priced } }, call, estimate: used }
  })
}

function isUnbilled(ending: CallEnding): ending is Extract<CallEnding, { kind: 'settled' }> {
  return ending.kind === 'settled' && ending.unbilled === true
}

function once(matched: readonly Matched[]): Matched[] {
  return [...new Map(matched.map((match) => [match.call.id, match])).values()]
}

function signalsOf({ signal, answer }: Entry, call: OpenCall, key: string): Signal[] {
  const startedAt = call.sent_at_ms
  if (signal === null) return []
  if (signal === 'welcome') {
    const wrong = answer?.search?.answer.parseError?.startsWith(otherQuery) === true
    return wrong ? [{ kind: 'welcome' }, { kind: 'wrong_answer' }] : [{ kind: 'welcome' }]
  }
  if (signal === 'key_refused') return [{ kind: 'key_refused', key }]
  if (signal === 'no_credit') return [{ kind: 'no_credit', seq: call.start_seq, startedAt }]
  return [{ kind: 'slow_down', startedAt, waitMs: signal.waitMs }]
}

/** Next state of a task, with the row version on which the decision is based. */
interface Judged extends ChangedTask {
  readonly version: string
}

/** Computes the next states of tasks whose calls have finished. */
export function judgeTasks(matched: readonly Matched[], patience: Patience): Map<number, Judged> {
  const changes = new Map<number, Judged>()
  for (const { entry, call } of matched) {
    const { state, attempts, ambiguous, deaths } = changes.get(call.task_id) ?? call
    const change = nextTry({ state, attempts, ambiguous, deaths }, entry.effect, patience)
    if (change !== null) changes.set(call.task_id, { version: call.version, ...change })
  }
  return changes
}

/** Rows that a settlement writes, with the row versions on which they are based. */
export type Settlement = ReturnType<typeof settlementOf>

export function settlementOf(
  { account, key, floor }: SettlementRules,
  {
    matched,
    changes,
    jitter,
  }: { matched: readonly Matched[]; changes: ReadonlyMap<number, Judged>; jitter: number },
) {
  const signals = matched.flatMap(({ entry, call }) => signalsOf(entry, call, key))
  const answers = answersOf(matched)
  return {
    account_id: account,
    key,
    floor,
    jitter,
    change: changeOf(matched, signals),
    stops: stopsOf(matched),
    calls: matched.map(callRow),
    tasks: [...changes].map(([id, judged]) => ({ id, search_id: answers.get(id), ...judged })),
    runs: runChanges(matched),
  }
}

/**
 * Returns a call's old and new rows. If the stored row is not the old row, the settlement is computed again.
 * Nulls are omitted to save parsing in Postgres; most calls have no error, so their error fields are null.
 */
function callRow({ entry, call, estimate }: Matched) {
  return {
    id: call.id,
    mark: call.mark ?? undefined,
    was: call.outcome ?? undefined,
    was_washed: call.washed,
    bound: call.credits_reserved,
    outcome: entry.ending.kind,
    http_status: entry.httpStatus ?? undefined,
    credits_used: entry.creditsUsed ?? estimate,
    credits_remaining: entry.creditsRemaining ?? undefined,
    ...(estimate === undefined ? {} : { estimated: true }),
    error_code: entry.code ?? undefined,
    error_message: entry.message ?? undefined,
  }
}

function answersOf(matched: readonly Matched[]): Map<number, number> {
  const answers = new Map<number, number>()
  for (const { entry, call } of matched) {
    if (entry.effect.kind !== 'answered') continue
    answers.set(call.task_id, Math.min(call.id, answers.get(call.task_id) ?? call.id))
  }
  return answers
}

function runChanges(matched: readonly Matched[]) {
  const sums = new Map<
    number,
    { run: number; spent: number; uncertain: number; reserved: number }
  >()
  for (const { entry, call } of matched) {
    const sum = sums.get(call.run_id) ?? { run: call.run_id, spent: 0, uncertain: 0, reserved: 0 }
    const bound = call.credits_reserved
    if (call.outcome === null) sum.reserved -= bound
    else sum.uncertain -= bound
    if (entry.ending.kind === 'settled') sum.spent += entry.ending.used
    if (entry.ending.kind === 'unknown') sum.uncertain += bound
    sums.set(call.run_id, sum)
  }
  return [...sums.values()]
}

/** Returns the stops caused by the replies in a batch. The statement that stores new stops also lifts old stops. */
function stopsOf(matched: readonly Matched[]): { reason: string; detail: string }[] {
  const first = (wanted: (signal: Entry['signal']) => boolean) =>
    matched.find(({ entry }) => wanted(entry.signal))?.entry
  const reported = [
    { reason: 'auth', entry: first((signal) => signal === 'key_refused') },
    { reason: 'credit_floor', entry: first((signal) => signal === 'no_credit') },
    { reason: 'rate', entry: first((signal) => typeof signal === 'object' && signal !== null) },
  ]
  return reported.flatMap(({ reason, entry }) =>
    entry === undefined ? [] : [{ reason, detail: sentence(entry) }],
  )
}

function sentence({ httpStatus, code, message }: Entry): string {
  return `the API answered ${httpStatus ?? 'nothing'} ${code ?? ''}${message === null ? '' : `: ${message}`}`
}
