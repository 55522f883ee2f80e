// What a finished call does to its account, task and run.

import type { Database } from '../../base/database/database.ts'
import { codeOf } from '../../base/errors.ts'
import { type StoredAnswer, storing } from '../answers/store.ts'
import { constants } from './account.ts'
import { type ChangedTask, type Effect, nextTry, type Patience } from './retry-policy.ts'
import {
  type CallEnding,
  type CallOutcome,
  changeOf,
  changeRow,
  priceRows,
  type Signal,
} from './rows.ts'
import {
  booksChanged,
  type OpenCall,
  readCalls,
  saveSettlement,
  type Settlement,
} from './settle-statement.ts'

/** What came of writing entries down. */
interface Recording {
  readonly recorded: readonly Recorded[]
  /** Entries of calls that this database does not know: it was set back, or it is another one. */
  readonly strangers: readonly Entry[]
}

/** A call or its task changes while its end is written down only when somebody else gives it up in that moment. */
const mostTries = 5

/**
 * Answers, money and task states in one transaction: a received answer is never bought again. What the ends of calls
 * mean is worked out without a lock on anything, and written only if the calls are as they were read.
 */
export async function record(
  db: Database,
  clerk: Clerk,
  entries: readonly Entry[],
): Promise<Recording> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await recordOnce(db, clerk, entries)
    } catch (error) {
      if (codeOf(error) !== booksChanged || tries === mostTries) throw error
    }
  }
}

async function recordOnce(
  db: Database,
  clerk: Clerk,
  entries: readonly Entry[],
): Promise<Recording> {
  const ids = entries.map(({ call }) => call.id)
  const { known, matched, strangers } = matchEntries(
    entries,
    await readCalls(db, clerk.account, ids),
  )
  const jitter = Math.random()
  const changes = judgeTasks(matched, { rebuy: clerk.rebuy, jitter })
  if (matched.length > 0) {
    const answers = matched.flatMap(({ entry }) => (entry.answer === null ? [] : [entry.answer]))
    await saveSettlement(db, settlementOf(clerk, { matched, changes, jitter }), storing(answers))
  }
  return {
    recorded: known.map(({ call }) => ({
      call: call.id,
      task: call.task_id,
      state: changes.get(call.task_id)?.state ?? call.state,
      waitMs: changes.get(call.task_id)?.waitMs ?? null,
    })),
    strangers,
  }
}

/** Which call it is. The mark is null for calls of older releases. */
export interface CallName {
  readonly id: number
  readonly mark: string | null
}

/** One call that ended, with everything that the ledger keeps of it. */
export interface Entry {
  readonly call: CallName
  readonly ending: CallEnding
  readonly effect: Effect
  /** What it says about the account itself. */
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

/** Whose books are written, and by which rules. */
export interface Clerk {
  readonly account: number
  /** Fingerprint of the key in use: another one may be put into its file. */
  key: string
  readonly floor: number
  readonly rebuy: boolean
}

/** What became of the task of a call. */
export interface Recorded {
  readonly call: number
  readonly task: number
  readonly state: string
  /** Milliseconds until the task may be tried again; null when it ended, or when nobody knows. */
  readonly waitMs: number | null
}

/** A call that ended, beside its row. */
export interface Matched {
  readonly entry: Entry
  readonly call: OpenCall
}

/** Entries beside the rows of their calls. */
interface Match {
  /** Entries of calls that the tables know. */
  readonly known: readonly Matched[]
  /** Those among them that say something new, one for each call. */
  readonly matched: readonly Matched[]
  /** Entries of calls that the tables do not know. */
  readonly strangers: readonly Entry[]
}

/** Finds the call of each entry among the rows that were read. */
export function matchEntries(entries: readonly Entry[], calls: readonly OpenCall[]): Match {
  const rows = new Map(calls.map((row) => [row.id, row]))
  const known = entries.flatMap((entry): Matched[] => {
    const call = rows.get(entry.call.id)
    return call !== undefined && isOf(entry, call) ? [{ entry, call }] : []
  })
  const ours = new Set(known.map(({ entry }) => entry))
  return {
    known,
    matched: once(known.filter(tellsMore)),
    strangers: entries.filter((entry) => !ours.has(entry)),
  }
}

/** A database that was set back gives numbers out anew: the mark tells whether a call is the one that was answered. */
function isOf({ call, answer }: Entry, row: OpenCall): boolean {
  return call.mark === row.mark && (answer?.search?.queryId ?? row.query_id) === row.query_id
}

/** An answer that was written down before (delivered twice, or replayed from a file) changes nothing. */
function tellsMore({ entry, call }: Matched): boolean {
  if (call.outcome === null) return true
  // Given up before: what counts now is an answer, or its price. The word that it was never sent comes too late: the try
  // was counted, and what is held for it is washed out like any other.
  const answered = entry.effect.kind === 'answered'
  return call.outcome === 'unknown' && (answered || entry.ending.kind === 'settled')
}

function once(matched: readonly Matched[]): Matched[] {
  return [...new Map(matched.map((match) => [match.call.id, match])).values()]
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

function signalsOf({ signal }: Entry, call: OpenCall, key: string): Signal[] {
  const startedAt = call.sent_at_ms
  if (signal === null) return []
  if (signal === 'welcome') return [{ kind: 'welcome' }]
  if (signal === 'key_refused') return [{ kind: 'key_refused', key }]
  if (signal === 'no_credit') return [{ kind: 'no_credit', seq: call.start_seq, startedAt }]
  return [{ kind: 'slow_down', startedAt, waitMs: signal.waitMs }]
}

/** A task as it is judged now, with the version of its row that this rests on. */
interface Judged extends ChangedTask {
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

/** The stops that begin with what the API said; which of them end, the statement that writes them sees. */
function stopsOf(matched: readonly Matched[]): { reason: string; detail: string }[] {
  const first = (wanted: (signal: Entry['signal']) => boolean) =>
    matched.find(({ entry }) => wanted(entry.signal))?.entry
  const told = [
    { reason: 'auth', entry: first((signal) => signal === 'key_refused') },
    { reason: 'credit_floor', entry: first((signal) => signal === 'no_credit') },
    { reason: 'rate', entry: first((signal) => typeof signal === 'object' && signal !== null) },
  ]
  return told.flatMap(({ reason, entry }) =>
    entry === undefined ? [] : [{ reason, detail: sentence(entry) }],
  )
}

function sentence({ httpStatus, code, message }: Entry): string {
  return `the API answered ${httpStatus ?? 'nothing'} ${code ?? ''}${message === null ? '' : `: ${message}`}`
}
