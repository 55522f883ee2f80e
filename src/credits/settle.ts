import { constants, type Account, type Cost, type Costs } from './account.ts'
import { unhandled } from '../shared/errors.ts'

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

/** Credits held for a call given up earlier. */
export interface Held {
  readonly call: number
  readonly unknownAt: number
  readonly bound: number
}

export interface Settling {
  readonly outcomes: readonly CallOutcome[]
  readonly signals: readonly Signal[]
  readonly held: readonly Held[]
  readonly now: number
  readonly floor: number
  /** Between 0 and 1: spreads waiting workers. */
  readonly jitter: number
}

export interface Settled {
  readonly account: Account
  readonly costs: Costs
  /** Calls for which nothing is held any more. */
  readonly washed: readonly number[]
}

/** Writes outcomes into the books: a reply proves only that what ended before its start is in its balance. */
export function settle(before: Account, costs: Costs, settlement: Settling): Settled {
  let account = before
  const prices = new Map(costs)
  for (const outcome of settlement.outcomes) {
    account = book(release(account, outcome), outcome)
    learnPrice(prices, outcome)
  }
  account = lookAtBalance(before, account, settlement.outcomes)
  for (const signal of settlement.signals) account = heed(account, signal, settlement)
  const washed = wash(account, settlement.held)
  const freed = washed.reduce((sum, call) => sum + call.bound, 0)
  account = { ...account, uncertain: account.uncertain - freed }
  return { account, costs: prices, washed: washed.map(({ call }) => call) }
}

/** Gives back what was set aside for the call. */
function release(account: Account, { was, bound }: CallOutcome): Account {
  switch (was) {
    case 'in_flight':
      return { ...account, reserved: account.reserved - bound, inFlight: account.inFlight - 1 }
    case 'unknown':
      return { ...account, uncertain: account.uncertain - bound }
    case 'washed':
      return account
    default:
      throw unhandled('state', was)
  }
}

function book(account: Account, { was, bound, now }: CallOutcome): Account {
  // A call given up counted with its bound, on that day for good: this may be another day.
  const counted = was === 'in_flight' ? 0 : bound
  switch (now.kind) {
    case 'unsent':
      return account
    case 'unknown':
      return {
        ...account,
        uncertain: account.uncertain + (was === 'washed' ? 0 : bound),
        daySpent: account.daySpent + bound - counted,
      }
    case 'settled':
      return {
        ...account,
        usedTotal: account.usedTotal + now.used,
        daySpent: account.daySpent + Math.max(0, now.used - counted),
        spentSince: account.spentSince + now.used,
      }
    default:
      throw unhandled('ending', now)
  }
}

/** The newest start wins: not the newest arrival, not the smallest balance, not the greatest. */
function lookAtBalance(before: Account, after: Account, outcomes: readonly CallOutcome[]): Account {
  let newest: { outcome: CallOutcome; used: number; remaining: number } | null = null
  for (const outcome of outcomes) {
    const { now, seq } = outcome
    if (now.kind !== 'settled' || now.remaining === null) continue
    if (seq <= Math.max(before.seen?.seq ?? 0, newest?.outcome.seq ?? 0)) continue
    newest = { outcome, used: now.used, remaining: now.remaining }
  }
  if (newest === null) return after
  const { outcome, used, remaining } = newest
  return {
    ...after,
    seen: { seq: outcome.seq, at: outcome.startedAt, remaining },
    blindCalls: 0,
    // Everything settled since this call began, itself left out: prefix sums of all credits ever used.
    spentSince: after.usedTotal - outcome.startTotal - used,
  }
}

/** What ended long enough before the newest balance was asked for has its cost in it. */
function wash(account: Account, held: readonly Held[]): readonly Held[] {
  const { seen } = account
  if (seen === null) return []
  return held.filter(({ unknownAt }) => unknownAt + constants.graceMs <= seen.at)
}

function learnPrice(prices: Map<string, Cost>, { class: name, was, now }: CallOutcome): void {
  const cost = prices.get(name) ?? { dearest: 0, cheapest: 0, seen: 0, trying: false }
  if (now.kind !== 'settled' || !now.priced) {
    // What was given up before ended its try then: the one in flight now is another call.
    prices.set(name, { ...cost, trying: cost.trying && was !== 'in_flight' })
    return
  }
  const first = cost.seen === 0
  prices.set(name, {
    dearest: first ? now.used : Math.max(cost.dearest, now.used),
    cheapest: first ? now.used : Math.min(cost.cheapest, now.used),
    seen: Math.min(cost.seen + 1, constants.trustedAfter),
    trying: false,
  })
}

function heed(account: Account, signal: Signal, { floor, now, jitter }: Settling): Account {
  switch (signal.kind) {
    case 'welcome':
      return account.slowdowns === 0 ? account : { ...account, slowdowns: 0 }
    case 'key_refused':
      return { ...account, blockedKey: signal.key }
    case 'no_credit':
      return drain(account, signal, floor)
    case 'slow_down':
      return slowDown(account, signal, { now, jitter })
    default:
      throw unhandled('signal', signal)
  }
}

/** The API says that credit is used up: nothing is proved to be left, unless a call begun later saw some. */
function drain(
  account: Account,
  signal: { seq: number; startedAt: number },
  floor: number,
): Account {
  if (account.seen !== null && account.seen.seq > signal.seq) return account
  return {
    ...account,
    seen: { seq: signal.seq, at: signal.startedAt, remaining: 0 },
    drainedFloor: floor,
    blindCalls: 0,
  }
}

/** A burst of refusals counts once: only a call begun after the last wait ended makes the next one longer. */
function slowDown(
  account: Account,
  { startedAt, waitMs }: { startedAt: number; waitMs: number | null },
  { now, jitter }: { now: number; jitter: number },
): Account {
  const burst = account.notBefore !== null && startedAt < account.notBefore
  const slowdowns = burst ? account.slowdowns : account.slowdowns + 1
  const doubled = constants.slowdownMs * 2 ** Math.min(Math.max(0, slowdowns - 1), 10)
  const backoff = Math.min(constants.longestSlowdownMs, doubled) * (1 + jitter / 4)
  const until = now + Math.max(constants.slowdownMs, waitMs ?? backoff)
  return { ...account, slowdowns, notBefore: Math.max(account.notBefore ?? 0, until) }
}
