/** One balance as the ledger knows it. Times are milliseconds on the clock of the database. */
export interface Account {
  /** Calls begun so far: orders them by their start. */
  readonly seq: number
  /** Credits used by all settled calls, ever. */
  readonly usedTotal: number
  /** What the newest started answer said; null until one was read. */
  readonly seen: Sighting | null
  /** Credits used by calls that ended after that answer's call began: not surely in its balance. */
  readonly spentSince: number
  /** Credits set aside for calls in flight. */
  readonly reserved: number
  readonly inFlight: number
  /** Credits held for calls whose outcome nobody could read. */
  readonly uncertain: number
  /** Floor at which calls last stopped for want of credit; null while credit is enough. */
  readonly drainedFloor: number | null
  /** Calls let through since a balance was last read, to see one. */
  readonly blindCalls: number
  readonly probeGranted: boolean
  readonly lastProbeAt: number | null
  readonly notBefore: number | null
  readonly rateNextAt: number | null
  readonly slowdowns: number
  readonly blockedKey: string | null
  readonly day: string | null
  readonly daySpent: number
}

/** A balance, told by the answer to the call with this place among all starts. */
export interface Sighting {
  readonly seq: number
  readonly at: number
  readonly remaining: number
}

/** What calls of one class have cost so far. */
export interface Cost {
  readonly dearest: number
  readonly cheapest: number
  readonly seen: number
  /** True while the one call of a class never seen before is in flight. */
  readonly trying: boolean
}

export type Costs = ReadonlyMap<string, Cost>

/** The constants of the ledger, in one place. */
export const constants = {
  /** Assumed cost while nothing is known. */
  firstBound: 10,
  /** Kept above the floor on top of everything proved. */
  margin: 0,
  /** Dearest costs that must be free above the floor before a drained account goes on. */
  hysteresis: 2,
  /** An older balance may have been spent by others: one call at a time until a new one is seen. */
  oldestSightingMs: 600_000,
  /** A server charges no later than this after a call ended for us. */
  graceMs: 120_000,
  /** Calls, one at a time, before any balance is known or after a renewal: the first, and the re-buys of an unread one. */
  blindCalls: 5,
  /** Between two such calls. */
  probePauseMs: 2_000,
  /** Costs of a class that must be seen before the greatest of them is trusted as a bound. */
  trustedAfter: 30,
  /** Until then a call may cost this many times the dearest seen, as far as the balance is asked. */
  youngFactor: 4,
  /** Calls that may end unread before a task is given up as unknown: the first and two re-buys. */
  unreadCalls: 3,
  /** Calls that may fail readably before a task has failed. */
  failedCalls: 5,
  /** Deaths of workers with this task's call in flight before it is held as the suspect. */
  deaths: 3,
  /** Wait after the first refusal for being too fast; doubles with each further one. */
  slowdownMs: 1_000,
  longestSlowdownMs: 60_000,
} as const

/** An account that has never been used. */
export const newAccount: Account = {
  seq: 0,
  usedTotal: 0,
  seen: null,
  spentSince: 0,
  reserved: 0,
  inFlight: 0,
  uncertain: 0,
  drainedFloor: null,
  blindCalls: 0,
  probeGranted: false,
  lastProbeAt: null,
  notBefore: null,
  rateNextAt: null,
  slowdowns: 0,
  blockedKey: null,
  day: null,
  daySpent: 0,
}

/** The class of a call: the parameters that prices depend on. */
export function costClass(query: { readonly num: number; readonly device: string | null }): string {
  return `${query.num}/${query.device ?? '-'}`
}

/** The provable lower bound of the balance; null while none was ever seen. */
export function lowestBalance(account: Account): number | null {
  if (account.seen === null) return null
  return account.seen.remaining - account.spentSince - account.reserved - account.uncertain
}

/** The greatest cost of any class seen so far; null before the first. */
export function dearestOfAll(costs: Costs): number | null {
  let dearest: number | null = null
  for (const cost of costs.values()) {
    if (cost.seen > 0) dearest = Math.max(dearest ?? 0, cost.dearest)
  }
  return dearest
}

/** How much a call of this class is taken to cost: at the least, and while there is room. */
export interface Bound {
  /** Bound of a call that goes out alone. */
  readonly alone: number
  /** Bound of one call among several: wider while the class is young. */
  readonly among: number
  readonly unseen: boolean
}

/** A class never seen takes twice the dearest of all; a young one keeps a distance while there is room. */
export function boundOf(costs: Costs, name: string): Bound {
  const cost = costs.get(name)
  if (cost === undefined || cost.seen === 0) {
    const dearest = dearestOfAll(costs)
    const bound = dearest === null ? constants.firstBound : Math.max(1, 2 * dearest)
    return { alone: bound, among: bound, unseen: true }
  }
  // A free answer may be a courtesy of the first calls: one credit is the least that is held.
  const alone = Math.max(1, cost.dearest)
  if (cost.seen >= constants.trustedAfter) return { alone, among: alone, unseen: false }
  return {
    alone,
    among: Math.max(constants.firstBound, constants.youngFactor * alone),
    unseen: false,
  }
}
