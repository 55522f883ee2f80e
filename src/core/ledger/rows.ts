import { unhandled } from '../../base/errors.ts'
import type { Account, Sighting, Told } from './account.ts'
import type { AccountRow, Books, Reservation } from './books.ts'
import { type Cost, type Costs, hear, type Heard } from './prices.ts'
import type { Settlement } from './settle-statement.ts'

/** An account as the pure core sees it, from its row. */
export function accountOf(row: AccountRow): Account {
  return {
    seq: row.seq,
    usedTotal: row.used_total,
    seen: seenOf(row),
    spentSince: row.spent_since,
    told: toldOf(row.told_seq, row.told_least, row.told_untold),
    toldNext: toldOf(row.next_told_seq, row.next_told_least, row.next_told_untold),
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
    day: row.day,
    daySpent: row.day_spent,
    month: row.month,
    monthSpent: row.month_spent,
  }
}

function seenOf(row: AccountRow): Sighting | null {
  const { obs_seq: seq, obs_at_ms: at, obs_remaining: remaining, obs_doubted: doubted } = row
  if (seq === null || at === null || remaining === null) return null
  return { seq, at, remaining, ...(doubted ? { doubted } : {}) }
}

function toldOf(seq: number | null, least: number | null, untold: number): Told | null {
  return seq === null ? null : { seq, least: least ?? Number.MAX_SAFE_INTEGER, untold }
}

/** What the gate changes in an account's row, besides its sums. */
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
  /** What the ledger said of the call until now: an answer may come after it was given up. */
  readonly was: 'in_flight' | 'unknown' | 'washed'
  readonly now: CallEnding
}

/** How a call ended, as far as money goes. */
export type CallEnding =
  | {
      readonly kind: 'settled'
      readonly used: number
      readonly remaining: number | null
      /** True for an answer: its cost is the price of its class. A refusal for nothing teaches nothing. */
      readonly priced: boolean
    }
  /** Perhaps charged: the credits are held. */
  | { readonly kind: 'unknown' }
  /** Provably never sent. */
  | { readonly kind: 'unsent' }

/** What the API said about the account itself, besides credits. */
export type Signal =
  | { readonly kind: 'key_refused'; readonly key: string }
  | { readonly kind: 'no_credit'; readonly seq: number; readonly startedAt: number }
  | { readonly kind: 'slow_down'; readonly startedAt: number; readonly waitMs: number | null }
  | { readonly kind: 'welcome' }

/** A balance told by the call that began last among those that ended together. */
interface Newest {
  readonly seq: number
  readonly startedAt: number
  readonly startTotal: number
  readonly used: number
  readonly remaining: number
}

/**
 * What calls that ended change in the books: sums and signals that hold whatever else was written meanwhile, so that
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
}

/** What the API said about going slower, in one or more replies. */
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
