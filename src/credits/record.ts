import { storeAnswers, type StoredAnswer } from '../store/answers.ts'
import type { Database, Transaction } from '../store/database.ts'
import {
  lockAccount,
  readForSettle,
  saveAccount,
  saveSettlement,
  type Books,
  type Ledgering,
  type OpenCall,
} from '../store/ledger.ts'
import type { Costs } from './account.ts'
import { accountOf, changedCosts, costsOf, rowOf } from './books.ts'
import { settle, type Ending, type Outcome, type Settled, type Signal } from './settle.ts'
import { nextTry, type Change, type Effect, type Patience } from './tries.ts'

/** One call that ended, with everything that is to be kept of it. */
export interface Ended {
  readonly call: number
  readonly ending: Ending
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
  readonly key: string
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

/** Answers, money and task states in one transaction: a received answer is never bought again. */
export async function record(
  db: Database,
  clerk: Clerk,
  ended: readonly Ended[],
): Promise<readonly Recorded[]> {
  return db.transaction().execute(async (trx) => {
    const answers = ended.flatMap(({ answer }) => (answer === null ? [] : [answer]))
    if (answers.length > 0) await storeAnswers(trx, answers)
    await lockAccount(trx, clerk.account)
    const calls = ended.map(({ call }) => call)
    const read = await readForSettle(trx, clerk.account, calls)
    return writeBooks(trx, clerk, { ended, ...read })
  })
}

interface Reading {
  readonly ended: readonly Ended[]
  readonly books: Books
  readonly calls: readonly OpenCall[]
  readonly held: readonly { call: number; unknown_at_ms: number; bound: number }[]
}

interface Matched {
  readonly ended: Ended
  readonly call: OpenCall
}

async function writeBooks(trx: Transaction, clerk: Clerk, reading: Reading) {
  const { books, held } = reading
  const matched = matchCalls(reading)
  const costs = costsOf(books)
  const jitter = Math.random()
  const settled = settle(accountOf(books.account), costs, {
    outcomes: matched.map(outcomeOf),
    signals: matched.flatMap(({ ended, call }) => signalsOf(ended, call, clerk)),
    held: held
      .filter(({ call }) => !matched.some((match) => match.call.id === call))
      .map(({ call, unknown_at_ms, bound }) => ({ call, unknownAt: unknown_at_ms, bound })),
    now: books.now_ms,
    floor: Math.max(clerk.floor, books.floor),
    jitter,
  })
  const changes = judgeTasks(matched, { rebuy: clerk.rebuy, jitter })
  await saveAccount(trx, {
    id: clerk.account,
    account: rowOf(settled.account),
    ...stopsOf(matched, { clerk, books, settled }),
  })
  await saveSettlement(trx, ledgering(clerk, { matched, changes, settled, before: costs }))
  return reading.calls.map((call) => ({
    call: call.id,
    task: call.task_id,
    state: changes.get(call.task_id)?.state ?? call.state,
    waitMs: changes.get(call.task_id)?.waitMs ?? null,
  }))
}

/** An answer that was written down before (delivered twice, or replayed from a file) changes nothing. */
function matchCalls({ ended, calls }: Reading): Matched[] {
  const rows = new Map(calls.map((call) => [call.id, call]))
  return ended.flatMap((one) => {
    const call = rows.get(one.call)
    if (call === undefined || (call.outcome !== null && call.outcome !== 'unknown')) return []
    // Given up before, and still nobody knows more: neither the answer nor its price.
    const told = one.ending.kind === 'settled' || one.effect.kind === 'answered'
    if (call.outcome === 'unknown' && !told) return []
    return [{ ended: one, call }]
  })
}

function outcomeOf({ ended, call }: Matched): Outcome {
  return {
    seq: call.start_seq,
    startedAt: call.sent_at_ms,
    startTotal: call.start_total,
    bound: call.credits_reserved,
    class: call.class,
    was: call.outcome === null ? 'in_flight' : call.washed ? 'washed' : 'unknown',
    now: ended.ending,
  }
}

function signalsOf({ signal }: Ended, call: OpenCall, { key }: Clerk): Signal[] {
  const startedAt = call.sent_at_ms
  if (signal === null) return []
  if (signal === 'welcome') return [{ kind: 'welcome' }]
  if (signal === 'key_refused') return [{ kind: 'key_refused', key }]
  if (signal === 'no_credit') return [{ kind: 'no_credit', seq: call.start_seq, startedAt }]
  return [{ kind: 'slow_down', startedAt, waitMs: signal.waitMs }]
}

function judgeTasks(matched: readonly Matched[], patience: Patience): Map<number, Change> {
  const changes = new Map<number, Change>()
  for (const { ended, call } of matched) {
    const tries = changes.get(call.task_id) ?? call
    const change = nextTry(
      {
        state: tries.state,
        attempts: tries.attempts,
        ambiguous: tries.ambiguous,
        deaths: tries.deaths,
      },
      ended.effect,
      patience,
    )
    if (change !== null) changes.set(call.task_id, change)
  }
  return changes
}

function stopsOf(
  matched: readonly Matched[],
  { clerk, books, settled }: { clerk: Clerk; books: Books; settled: Settled },
) {
  const stops: { reason: string; until_ms: number | null; detail: string | null }[] = []
  const told = (wanted: (signal: Ended['signal']) => boolean) =>
    matched.find(({ ended }) => wanted(ended.signal))?.ended
  const refused = told((signal) => signal === 'key_refused')
  if (refused !== undefined) {
    stops.push({ reason: 'auth', until_ms: null, detail: sentence(refused) })
  }
  const broke = told((signal) => signal === 'no_credit')
  if (broke !== undefined) {
    stops.push({ reason: 'credit_floor', until_ms: null, detail: sentence(broke) })
  }
  const hurried = told((signal) => typeof signal === 'object' && signal !== null)
  if (hurried !== undefined) {
    const until = settled.account.notBefore
    stops.push({ reason: 'rate', until_ms: until, detail: sentence(hurried) })
  }
  // Another key than the refused one was answered: the account goes on with it.
  const newKey =
    books.account.blocked_key !== clerk.key && told((signal) => signal === 'welcome') !== undefined
  const stood = books.stops.some(({ reason }) => reason === 'auth')
  return { stops, cleared: newKey && stood ? [{ reason: 'auth', by: 'key' }] : [] }
}

function sentence({ httpStatus, code, message }: Ended): string {
  return `the API answered ${httpStatus ?? 'nothing'} ${code ?? ''}${message === null ? '' : `: ${message}`}`
}

function ledgering(
  { account }: Clerk,
  {
    matched,
    changes,
    settled,
    before,
  }: {
    matched: readonly Matched[]
    changes: ReadonlyMap<number, Change>
    settled: Settled
    before: Costs
  },
): Ledgering {
  return {
    account_id: account,
    calls: matched.map(({ ended, call }) => ({
      id: call.id,
      outcome: ended.ending.kind,
      http_status: ended.httpStatus,
      credits_used: ended.creditsUsed,
      credits_remaining: ended.creditsRemaining,
      error_code: ended.code,
      error_message: ended.message,
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
    ({ ended, call }) => call.task_id === task && ended.effect.kind === 'answered',
  )
  return answers.length === 0 ? null : Math.min(...answers.map(({ call }) => call.id))
}

function taskRow(id: number, change: Change, search: number | null) {
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
  for (const { ended, call } of matched) {
    const sum = sums.get(call.run_id) ?? { run: call.run_id, spent: 0, reserved: 0 }
    const bound = call.credits_reserved
    // A call given up counts with its bound until its answer tells more.
    if (call.outcome === null) sum.reserved -= bound
    else sum.spent -= bound
    if (ended.ending.kind === 'settled') sum.spent += ended.ending.used
    if (ended.ending.kind === 'unknown') sum.spent += bound
    sums.set(call.run_id, sum)
  }
  return [...sums.values()]
}
