// Settles finished calls: works out what they mean for account, tasks and runs, and writes it.

import { otherQuery } from '../../base/answer.ts'
import { type Database, travel } from '../../base/database/database.ts'
import { type CompiledQuery, sql } from '../../base/database/kysely.ts'
import { statement } from '../../base/database/sql-file.ts'
import { codeOf, unhandled } from '../../base/errors.ts'
import { type StoredAnswer, storing } from '../answers/store.ts'
import { type Account, constants, type BalanceReading, type ReportedBalances } from './account.ts'
import { type AccountRow, type Books, type Reservation, takeAccount } from './books.ts'
import { type Cost, type Costs, hear, type Heard } from './prices.ts'
import { type ChangedTask, type Effect, nextTry, type Patience } from './retry-policy.ts'

/** An account as the pure core sees it, from its row. */
export function accountOf(row: AccountRow): Account {
  return {
    seq: row.seq,
    usedTotal: row.used_total,
    seen: toReading(row),
    spentSince: row.spent_since,
    told: toReported(row.told_seq, row.told_least, row.told_untold),
    toldNext: toReported(row.next_told_seq, row.next_told_least, row.next_told_untold),
    reserved: row.reserved,
    inFlight: row.in_flight,
    uncertain: row.uncertain,
    drainedFloor: row.drained_floor,
    blindCalls: row.blind_calls,
    probeGranted: row.probe_granted,
    lastProbeAt: row.last_probe_at_ms,
    notBefore: row.not_before_ms,
    rateNextAt: row.rate_next_at_ms,
    slowdowns: row.slowdowns,
    blockedKeys: row.blocked_keys,
    keys: row.keys,
    foreignKeys: row.foreign_keys,
    external: { now: row.external_now, last: row.external_last },
    day: row.day,
    daySpent: row.day_spent,
    month: row.month,
    monthSpent: row.month_spent,
  }
}

function toReading(row: AccountRow): BalanceReading | null {
  const { obs_seq: seq, obs_at_ms: at, obs_remaining: remaining, obs_doubted: doubted } = row
  if (seq === null || at === null || remaining === null) return null
  return { seq, at, remaining, ...(doubted ? { doubted } : {}) }
}

function toReported(
  seq: number | null,
  least: number | null,
  untold: number,
): ReportedBalances | null {
  return seq === null ? null : { seq, least: least ?? Number.MAX_SAFE_INTEGER, untold }
}

/** Values of an account that a reservation changes, besides its sums. */
export function stateOf(account: Account): Reservation['state'] {
  return {
    drained_floor: account.drainedFloor,
    blind_calls: account.blindCalls,
    probe_granted: account.probeGranted,
    last_probe_at_ms: account.lastProbeAt,
    rate_next_at_ms: account.rateNextAt,
    day: account.day,
    day_spent: account.daySpent,
    month: account.month,
    month_spent: account.monthSpent,
  }
}

/** Prices by class, from their rows. */
export function costsOf({ costs }: Books): Costs {
  return new Map(
    costs.map((row): [string, Cost] => [
      row.class,
      {
        dearest: row.dearest ?? 0,
        cheapest: row.cheapest ?? 0,
        seen: row.seen,
        trying: row.trying,
        recent: { first: row.recent_first, second: row.recent_second, count: row.recent_count },
        earlier: { first: row.earlier_first, second: row.earlier_second, count: row.earlier_count },
      },
    ]),
  )
}

/** A change of the books in the spelling of the statement that writes it. */
export function changeRow(change: Change): Settlement['change'] {
  const { newest, noCredit, slowDown } = change
  return {
    reserved: change.reserved,
    in_flight: change.inFlight,
    uncertain: change.uncertain,
    used: change.used,
    day_spent: change.daySpent,
    newest: newest === null ? null : newestRow(newest),
    least: change.least,
    untold: change.untold,
    refused_keys: change.refusedKeys,
    no_credit: noCredit === null ? null : { seq: noCredit.seq, started_at_ms: noCredit.startedAt },
    slow_down:
      slowDown === null
        ? null
        : {
            started_at_ms: slowDown.startedAt,
            wait_ms: slowDown.waitMs,
            unnamed: slowDown.unnamed,
          },
    welcome: change.welcome,
    wrong_answers: change.wrongAnswers,
  }
}

function newestRow({ seq, startedAt, startTotal, used, remaining }: Newest) {
  return { seq, started_at_ms: startedAt, start_total: startTotal, used, remaining }
}

/** The prices that were heard, in the same spelling. */
export function priceRows({ prices }: Change): Settlement['prices'] {
  return [...prices].map(([name, { peak, cheapest, tried }]) => ({
    class: name,
    first: peak.first,
    second: peak.second,
    heard: peak.count,
    cheapest: peak.count === 0 ? 0 : cheapest,
    tried,
  }))
}

/** One call whose outcome is to be written down. */
export interface CallOutcome {
  readonly seq: number
  readonly startedAt: number
  readonly startTotal: number
  readonly bound: number
  readonly class: string
  /** State of the call until now: an answer may come after it was given up. */
  readonly was: 'in_flight' | 'unknown' | 'washed'
  readonly now: CallEnding
}

/** End of a call, as far as money goes. */
export type CallEnding =
  | {
      readonly kind: 'settled'
      readonly used: number
      readonly remaining: number | null
      /** True for an answer: its cost is the price of its class. A refusal for nothing teaches nothing. */
      readonly priced: boolean
      /** True: the answer told a balance and no price, which is estimated when the call is settled. */
      readonly unbilled?: true
    }
  /** Perhaps charged: the credits are held. */
  | { readonly kind: 'unknown' }
  /** Provably never sent. */
  | { readonly kind: 'unsent' }

/** Statement of the API about the account itself, besides credits. */
export type Signal =
  | { readonly kind: 'key_refused'; readonly key: string }
  | { readonly kind: 'no_credit'; readonly seq: number; readonly startedAt: number }
  | { readonly kind: 'slow_down'; readonly startedAt: number; readonly waitMs: number | null }
  | { readonly kind: 'welcome' }
  | { readonly kind: 'wrong_answer' }

/** A balance told by the call that began last among those that ended together. */
interface Newest {
  readonly seq: number
  readonly startedAt: number
  readonly startTotal: number
  readonly used: number
  readonly remaining: number
}

/**
 * Changes that finished calls make to an account: sums and signals that hold whatever else was written meanwhile, so that
 * nobody has to hold the account while they are worked out.
 */
export interface Change {
  readonly reserved: number
  readonly inFlight: number
  readonly uncertain: number
  readonly used: number
  /** Of the day and of the month. */
  readonly daySpent: number
  readonly newest: Newest | null
  /** The least balance told; null when none was. */
  readonly least: number | null
  /** Credits used by answers that told no balance. */
  readonly untold: number
  readonly prices: ReadonlyMap<string, Heard>
  readonly refusedKeys: readonly string[]
  readonly noCredit: { readonly seq: number; readonly startedAt: number } | null
  readonly slowDown: SlowDown | null
  readonly welcome: boolean
  /** Answers that named another query. */
  readonly wrongAnswers: number
}

/** Requests to slow down, of one or more replies. */
export interface SlowDown {
  /** When the newest of the calls began. */
  readonly startedAt: number
  /** The longest wait it named. */
  readonly waitMs: number | null
  /** True when one reply named none: then our own backoff counts as well. */
  readonly unnamed: boolean
}

const nothing: Change = {
  reserved: 0,
  inFlight: 0,
  uncertain: 0,
  used: 0,
  daySpent: 0,
  newest: null,
  least: null,
  untold: 0,
  prices: new Map(),
  refusedKeys: [],
  noCredit: null,
  slowDown: null,
  welcome: false,
  wrongAnswers: 0,
}

/** Adds up what some calls that ended, and what was said with them, mean for the books. */
export function changeOf(outcomes: readonly CallOutcome[], signals: readonly Signal[]): Change {
  const prices = new Map<string, Heard>()
  for (const { class: name, was, now } of outcomes) {
    const price = now.kind === 'settled' && now.priced ? now.used : null
    prices.set(name, hear(prices.get(name), price, was === 'in_flight'))
  }
  const booked = outcomes.reduce(
    (change, outcome) => book(release(change, outcome), outcome),
    nothing,
  )
  return signals.reduce(heed, { ...booked, prices })
}

/** Gives back what was set aside for the call. */
function release(change: Change, { was, bound }: CallOutcome): Change {
  switch (was) {
    case 'in_flight':
      return { ...change, reserved: change.reserved - bound, inFlight: change.inFlight - 1 }
    case 'unknown':
      return { ...change, uncertain: change.uncertain - bound }
    case 'washed':
      return change
    default:
      throw unhandled('state', was)
  }
}

function book(change: Change, outcome: CallOutcome): Change {
  const { was, bound, now } = outcome
  // A call given up counted with its bound, on that day for good: this may be another day.
  const counted = was === 'in_flight' ? 0 : bound
  switch (now.kind) {
    case 'unsent':
      return change
    case 'unknown':
      return {
        ...change,
        uncertain: change.uncertain + (was === 'washed' ? 0 : bound),
        daySpent: change.daySpent + bound - counted,
      }
    case 'settled':
      return {
        ...change,
        used: change.used + now.used,
        daySpent: change.daySpent + Math.max(0, now.used - counted),
        ...balanceOf(change, outcome, now),
      }
    default:
      throw unhandled('ending', now)
  }
}

function balanceOf(
  { newest, least, untold }: Change,
  { seq, startedAt, startTotal }: CallOutcome,
  { used, remaining }: { used: number; remaining: number | null },
): Pick<Change, 'newest' | 'least' | 'untold'> {
  if (remaining === null) return { newest, least, untold: untold + used }
  return {
    // The newest start wins: not the newest arrival, not the smallest balance, not the greatest.
    newest: seq > (newest?.seq ?? 0) ? { seq, startedAt, startTotal, used, remaining } : newest,
    least: Math.min(least ?? remaining, remaining),
    untold,
  }
}

function heed(change: Change, signal: Signal): Change {
  switch (signal.kind) {
    case 'welcome':
      return { ...change, welcome: true }
    case 'wrong_answer':
      return { ...change, wrongAnswers: change.wrongAnswers + 1 }
    case 'key_refused':
      return { ...change, refusedKeys: [...new Set([...change.refusedKeys, signal.key])] }
    case 'no_credit': {
      const { seq, startedAt } = signal
      return seq > (change.noCredit?.seq ?? 0)
        ? { ...change, noCredit: { seq, startedAt } }
        : change
    }
    case 'slow_down':
      return { ...change, slowDown: slower(change.slowDown, signal) }
    default:
      throw unhandled('signal', signal)
  }
}

function slower(
  before: SlowDown | null,
  { startedAt, waitMs }: { startedAt: number; waitMs: number | null },
): SlowDown {
  if (before === null) return { startedAt, waitMs, unnamed: waitMs === null }
  return {
    startedAt: Math.max(before.startedAt, startedAt),
    waitMs: waitMs === null ? before.waitMs : Math.max(before.waitMs ?? 0, waitMs),
    unnamed: before.unnamed || waitMs === null,
  }
}

/** The code of a statement that finds the books other than it was told. */
export const booksChanged = 'QM001'

/** A call as settlement needs it, with the tries of its task. */
export interface OpenCall {
  readonly id: number
  readonly mark: string | null
  readonly outcome: string | null
  readonly washed: boolean
  readonly start_seq: number
  readonly sent_at_ms: number
  readonly start_total: number
  readonly credits_reserved: number
  /** The least balance told lately to the account; null before the first. */
  readonly least_told: number | null
  readonly class: string
  readonly query_id: string
  readonly task_id: number
  /** Another one after every change of the task's row. */
  readonly version: string
  readonly run_id: number
  readonly state: string
  readonly attempts: number
  readonly ambiguous: number
  readonly deaths: number
}

/** Reads the calls of an account that ended; nothing is locked. */
export async function readCalls(
  db: Database,
  account: number,
  calls: readonly number[],
): Promise<readonly OpenCall[]> {
  const { rows } = await sql<OpenCall>`
    select
      c.id, c.mark, c.outcome, c.washed_at is not null as washed, c.start_seq,
      extract(epoch from c.sent_at)::float8 * 1000 as sent_at_ms, c.start_total, c.credits_reserved,
      least(a.obs_remaining, a.told_least) as least_told, c.class, c.query_id, c.task_id, t.xmin::text as version, t.run_id, t.state, t.attempts, t.ambiguous,
      t.deaths
    from calls c
    join accounts a on a.id = c.account_id
    join tasks t on t.id = c.task_id
    where c.id = any(${calls}::bigint[])
      and c.account_id = ${account}`.execute(db)
  return rows
}

/** A null is left out of the document: most calls end without an error, and Postgres parses all that is sent. */
type Said<T> = T | null | undefined

/** Document of a settlement: the rows to write, and the versions of the rows that they rest on. */
export interface Settlement {
  readonly account_id: number
  readonly key: string
  /** The floor of this worker. */
  readonly floor: number
  readonly jitter: number
  readonly change: {
    readonly reserved: number
    readonly in_flight: number
    readonly uncertain: number
    readonly used: number
    readonly day_spent: number
    readonly newest: {
      seq: number
      started_at_ms: number
      start_total: number
      used: number
      remaining: number
    } | null
    readonly least: number | null
    readonly untold: number
    readonly refused_keys: readonly string[]
    readonly no_credit: { seq: number; started_at_ms: number } | null
    readonly slow_down: { started_at_ms: number; wait_ms: number | null; unnamed: boolean } | null
    readonly welcome: boolean
    readonly wrong_answers: number
  }
  readonly prices: readonly {
    class: string
    first: number
    second: number
    heard: number
    cheapest: number
    tried: boolean
  }[]
  readonly stops: readonly { reason: string; detail: string | null }[]
  readonly calls: readonly {
    id: number
    /** The row as it was read: if it changed since, all of it is worked out again. */
    mark: Said<string>
    was: Said<string>
    was_washed: boolean
    bound: number
    outcome: string
    http_status: Said<number>
    credits_used: Said<number>
    credits_remaining: Said<number>
    /** True: its answer named no price. */
    estimated?: boolean | undefined
    error_code: Said<string>
    error_message: Said<string>
  }[]
  readonly tasks: readonly {
    id: number
    version: string
    state: string
    search_id: Said<number>
    attempts: number
    ambiguous: number
    deaths: number
    wait_ms: Said<number>
    error_code: Said<string>
    error_message: Said<string>
  }[]
  readonly runs: readonly { run: number; spent: number; reserved: number }[]
}

/** The statement that writes a settlement. */
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
 * Stores answers and what they mean for money, tasks and runs, and commits. All of it is sent at once; the account is
 * taken by the last statements. Fails with the code of a conflict when a call or a task is not as it was read.
 */
export async function saveSettlement(
  db: Database,
  settlement: Settlement,
  answers: Iterable<CompiledQuery>,
): Promise<void> {
  await travel(db, async (trip) => {
    let stored: Promise<unknown> = Promise.resolve()
    for (const query of answers) {
      // Very large bodies go one statement after the other: sent together they would all be in memory.
      await stored
      stored = trip.run(query)
    }
    takeAccount(
      trip,
      settlement.account_id,
      settlement.runs.map(({ run }) => run),
    )
    await trip.end(settling(settlement))
  })
}

/** Result of recording a batch of calls. */
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
  /** Statement about the account itself. */
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

/** State of the task of a call after it was recorded. */
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
  /** Its cost, where its answer named none. */
  readonly estimate?: number
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
    matched: estimatePrices(once(known.filter(tellsMore))),
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

/**
 * Estimates the cost of answers without a price: the fall of the balance below the least one that is known, less the bills
 * of the others. Before any balance is known it is the reservation.
 */
function estimatePrices(ended: readonly Matched[]): Matched[] {
  const told = ended.flatMap(({ entry: { creditsRemaining } }) => creditsRemaining ?? [])
  const known = ended[0]?.call.least_told ?? null
  const billed = ended.reduce((sum, { entry }) => sum + (entry.creditsUsed ?? 0), 0)
  let fall = known === null ? null : Math.max(0, known - Math.min(known, ...told) - billed)
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

/** A task as it is judged now, with the version of its row that this rests on. */
interface Judged extends ChangedTask {
  readonly version: string
}

/** Works out the next state of the tasks of finished calls. */
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

/** Makes the document that settles finished calls. */
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
    change: changeRow(change),
    prices: priceRows(change),
    stops: stopsOf(matched),
    calls: matched.map(callRow),
    tasks: [...changes].map(([task, judged]) => taskRow(task, judged, answers.get(task))),
    runs: purses(matched),
  }
}

function callRow({ entry, call, estimate }: Matched): Settlement['calls'][number] {
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
