import { type Account, constants, lowestBalance } from '../../../src/core/ledger/account.ts'
import {
  boundOf,
  type Cost,
  type Costs,
  type ReportedCosts,
  higher,
  noPeak,
  unknownCost,
} from '../../../src/core/ledger/prices.ts'
import {
  type Change,
  changeOf,
  type FinishedCall,
  type Signal,
  type SlowDown,
} from '../../../src/core/ledger/settle.ts'

/** Credits reserved for a call that was given up earlier. */
export interface Held {
  readonly call: number
  readonly unknownAt: number
  readonly bound: number
  readonly class: string
}

interface Settling {
  readonly outcomes: readonly FinishedCall[]
  readonly signals: readonly Signal[]
  readonly held: readonly Held[]
  readonly now: number
  readonly floor: number
  /** Between 0 and 1; spreads waiting workers over time. */
  readonly jitter: number
}

interface Settled {
  readonly account: Account
  readonly costs: Costs
  /** Calls whose reservation is released completely. */
  readonly washed: readonly number[]
  /** Calls whose reservation is lowered, because their price was unknown when they were sent. */
  readonly lowered: readonly { readonly call: number; readonly bound: number }[]
}

/**
 * Applies outcomes to the ledger: a reply proves only that calls that ended before its start are included in its
 * balance.
 */
export function settle(before: Account, costs: Costs, settling: Settling): Settled {
  return apply(before, costs, {
    ...settling,
    change: changeOf(settling.outcomes, settling.signals),
  })
}

/**
 * Information about the balance in an answer to a key: none if the balance cannot belong to this account and another
 * key is in use.
 */
export function hearKey(
  { keys, seen, reported: told, ...account }: Account,
  change: Change,
  { key, liveKeys, now }: { key: string; liveKeys: readonly string[]; now: number },
): { heard: Change; keys: readonly string[]; foreign: boolean } {
  const { newest, no_credit: noCredit, used } = change
  const balance = newest?.remaining ?? (noCredit === null ? null : 0)
  const unchanged = { heard: change, keys, foreign: false }
  const newer = newest !== null && newest.seq > (seen?.seq ?? 0)
  const drained = noCredit !== null && !isNewer(newer ? { ...newest, at: 0 } : seen, noCredit)
  if (keys.length === 0 && (newer || drained)) return { ...unchanged, keys: [key] }
  if (keys.length === 0 || keys.includes(key) || balance === null) return unchanged
  const open = account.reserved + account.uncertain
  const low = lowestBalance({ ...account, keys, seen, reported: told })
  if (seen !== null && low !== null) {
    const total = account.usedTotal + used
    const high = seen.remaining + open + total - (newest?.start_total ?? account.usedTotal)
    if (balance >= low - used && balance <= high) return { ...unchanged, keys: [...keys, key] }
    const fresh = seen.at > now - constants.oldestSightingMs
    if (fresh && liveKeys.some((one) => one !== key && keys.includes(one))) {
      return {
        heard: { ...change, newest: null, least: null, no_credit: null, untold: used },
        keys,
        foreign: true,
      }
    }
  }
  return newer || drained ? { ...unchanged, keys: [key] } : unchanged
}

/** A window of calls over which external spend is measured. */
export interface Stretch {
  /** Number of calls that had ended when it began. */
  readonly ended: number | null
  readonly base: number
}

/** The sum of balance and bills can fall only by external spend. */
export function measure(
  { seen, external, ...before }: Account,
  stretch: Stretch,
  {
    change,
    costs,
    known,
    washed,
  }: { change: Change; costs: Costs; known: boolean; washed: number },
): { external: Account['external']; stretch: Stretch } {
  const { newest } = change
  const { base } = stretch
  const rest = { ...stretch, base: base - washed }
  const ended = before.seq - before.inFlight - change.in_flight
  if (newest === null || newest.seq <= (seen?.seq ?? 0)) return { external, stretch: rest }
  const top = newest.remaining + newest.start_total + newest.used
  const anew = { ended, base: top - washed }
  if (!known || stretch.ended === null) return { external: { now: 0, last: null }, stretch: anew }
  const calls = ended - stretch.ended
  const { reserved, uncertain, usedTotal } = before
  const heard = [...costs.values()].filter((cost) => cost.seen > 0)
  const dearest = Math.max(...heard.map((cost) => cost.dearest))
  const calling = (before.inFlight + change.in_flight) * dearest
  const held = reserved + change.reserved
  const open = (heard.length === 0 ? held : Math.min(held, calling)) + uncertain + change.uncertain
  const missing = Math.max(base, top) - newest.remaining - usedTotal - change.used - open
  const { first, whole } = constants.externalCalls
  const now = calls < first ? external.now : Math.ceil(Math.max(0, missing) / calls)
  if (calls < Math.max(whole, 4 * before.inFlight)) {
    return {
      external: { now, last: external.last },
      stretch: { ...stretch, base: Math.max(base, top) - washed },
    }
  }
  return { external: { now, last: now }, stretch: anew }
}

interface Applying extends Omit<Settling, 'outcomes' | 'signals'> {
  readonly change: Change
}

/** The same rules as in sql/statements/settle_calls.sql; a test compares them. */
export function apply(
  before: Account,
  costs: Costs,
  { change, held, ...rules }: Applying,
): Settled {
  const prices = new Map<string, Cost>(costs)
  for (const heard of change.prices) {
    prices.set(heard.class, learn(prices.get(heard.class) ?? unknownCost, heard))
  }
  let account = addUp(before, change)
  account = lookAtBalance(account, change)
  account = drain(account, change, rules.floor)
  account = heed(account, change, rules)
  const washed = held.filter((call) => isWashed(account, call))
  const lowered = held.flatMap((call) => (washed.includes(call) ? [] : lower(prices, call)))
  const freed = [...washed.map(({ bound }) => bound), ...lowered.map(({ less }) => less)]
  const uncertain = freed.reduce((sum, bound) => sum - bound, account.uncertain)
  return {
    account: { ...account, uncertain },
    costs: prices,
    washed: washed.map(({ call }) => call),
    lowered: lowered.map(({ call, bound }) => ({ call, bound })),
  }
}

function addUp(account: Account, change: Change): Account {
  return {
    ...account,
    reserved: account.reserved + change.reserved,
    inFlight: account.inFlight + change.in_flight,
    uncertain: account.uncertain + change.uncertain,
    usedTotal: account.usedTotal + change.used,
    daySpent: account.daySpent + change.day_spent,
    monthSpent: account.monthSpent + change.day_spent,
    reported: tell(account.reported, change),
    reportedNext: tell(account.reportedNext, change),
  }
}

function tell(told: Account['reported'], { least, untold }: Change): Account['reported'] {
  if (told === null) return null
  return {
    ...told,
    least: least === null ? told.least : Math.min(told.least, least),
    untold: told.untold + untold,
  }
}

/** A call that began later than the one with the known balance reports a newer balance. */
function lookAtBalance(account: Account, { newest, used }: Change): Account {
  if (newest === null || newest.seq <= (account.seen?.seq ?? 0)) {
    return { ...account, spentSince: account.spentSince + used }
  }
  return {
    ...account,
    ...nextTold(account, newest),
    seen: { seq: newest.seq, at: newest.started_at_ms, remaining: newest.remaining },
    blindCalls: 0,
    probeGranted: account.probeGranted && !isOfProbe(account, newest),
    // All credits settled since this call began, without its own, computed from prefix sums of all credits used.
    spentSince: account.usedTotal - newest.start_total - newest.used,
  }
}

/** Balances reported before the newest call began are forgotten as soon as a new start is known. */
function nextTold(
  { seq, seen, reported: told, reportedNext: toldNext, drainedFloor }: Account,
  newest: { readonly seq: number; readonly remaining: number },
): Pick<Account, 'reported' | 'reportedNext'> {
  const fresh = { seq, least: Number.MAX_SAFE_INTEGER, untold: 0 }
  // Credits were added to an account that was stopped at its floor: earlier balances are no longer used.
  if (drainedFloor !== null && seen !== null && newest.remaining > seen.remaining) {
    return { reported: null, reportedNext: fresh }
  }
  if (toldNext !== null && newest.seq <= toldNext.seq)
    return { reported: told, reportedNext: toldNext }
  return { reported: toldNext, reportedNext: fresh }
}

/**
 * The API reported that credits are used up: none are proved to be left, unless a call that began later reported some.
 */
function drain(account: Account, { no_credit: noCredit }: Change, floor: number): Account {
  if (noCredit === null || isNewer(account.seen, noCredit)) return account
  return {
    ...account,
    seen: { seq: noCredit.seq, at: noCredit.started_at_ms, remaining: 0 },
    drainedFloor: floor,
    blindCalls: 0,
    probeGranted: account.probeGranted && !isOfProbe(account, noCredit),
  }
}

/** True for a call that started with the last probe or after it. */
function isOfProbe(
  { lastProbeAt }: Account,
  { started_at_ms: startedAt }: { started_at_ms: number },
): boolean {
  return lastProbeAt !== null && startedAt >= lastProbeAt
}

function isNewer(seen: Account['seen'], { seq }: { seq: number }): boolean {
  return seen !== null && seen.seq > seq
}

function heed(
  account: Account,
  { refused_keys: refusedKeys, slow_down: slowDown, welcome }: Change,
  { now, jitter }: { now: number; jitter: number },
): Account {
  const blocked = [...new Set([...account.blockedKeys, ...refusedKeys])]
  const heeded = { ...account, blockedKeys: blocked }
  if (slowDown !== null) return { ...heeded, ...brake(account, slowDown, { now, jitter }) }
  return welcome ? { ...heeded, slowdowns: 0 } : heeded
}

/** A burst of refusals counts once: only a call that began after the end of the last wait makes the next one longer. */
function brake(
  account: Account,
  { started_at_ms: startedAt, wait_ms: waitMs, unnamed }: SlowDown,
  { now, jitter }: { now: number; jitter: number },
): Pick<Account, 'slowdowns' | 'notBefore'> {
  const burst = account.notBefore !== null && startedAt < account.notBefore
  const slowdowns = burst ? account.slowdowns : account.slowdowns + 1
  const doubled = constants.slowdownMs * 2 ** Math.min(Math.max(0, slowdowns - 1), 10)
  const backoff = Math.min(constants.longestSlowdownMs, doubled) * (1 + jitter / 4)
  const until = now + Math.max(constants.slowdownMs, waitMs ?? 0, unnamed ? backoff : 0)
  return { slowdowns, notBefore: Math.max(account.notBefore ?? 0, until) }
}

/** A call that ended long enough before the newest balance was requested is included in that balance. */
function isWashed({ seen }: Account, { unknownAt }: Held): boolean {
  return seen !== null && unknownAt + constants.graceMs <= seen.at
}

/** For a call that was lost before its price was known, at most the known price of such calls is reserved. */
function lower(costs: Costs, { call, class: name, bound }: Held) {
  if ((costs.get(name)?.seen ?? 0) < constants.trustedAfter) return []
  const { among } = boundOf(costs, name)
  return among < bound ? [{ call, bound: among, less: bound - among }] : []
}

/** What is known about a class after several of its prices were reported. */
function learn(cost: Cost, { cheapest, tried, ...peak }: ReportedCosts): Cost {
  // A call that was given up has already ended its try; the one in flight now is another.
  if (peak.count === 0) return { ...cost, trying: cost.trying && !tried }
  const recent = higher(cost.recent, peak)
  const full = recent.count >= constants.trustedAfter
  return {
    dearest: Math.max(cost.dearest, peak.first),
    cheapest: cost.seen === 0 ? cheapest : Math.min(cost.cheapest, cheapest),
    seen: cost.seen + peak.count,
    trying: false,
    recent: full ? noPeak : recent,
    earlier: full ? recent : cost.earlier,
  }
}
