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
  /** What answers told since a moment before that answer's call began; null before the first. */
  readonly told: Told | null
  /** The same since a later moment: takes its place as soon as the newest balance is of a call begun after it. */
  readonly toldNext: Told | null
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
  /** Fingerprints of keys that the API refused. */
  readonly blockedKeys: readonly string[]
  readonly day: string | null
  readonly daySpent: number
  /** The day on which the month began that is counted. */
  readonly month: string | null
  readonly monthSpent: number
}

/** A balance, told by the answer to the call with this place among all starts. */
export interface Sighting {
  readonly seq: number
  readonly at: number
  readonly remaining: number
  /** True: others may have been told less since, which nobody here remembers. */
  readonly doubted?: boolean
}

/** What the answers told that ended since so many calls had begun. */
export interface Told {
  readonly seq: number
  /** The least balance that any of them told. */
  readonly least: number
  /** Credits used by those that told no balance. */
  readonly untold: number
}

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
  /** Costs of a class that must be seen before the greatest of them is trusted as a bound; later only so many count. */
  trustedAfter: 30,
  /** A price seen once that is so many times the next one is odd: a call that goes out alone need not expect it. */
  oddFactor: 10,
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
  told: null,
  toldNext: null,
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
  blockedKeys: [],
  day: null,
  daySpent: 0,
  month: null,
  monthSpent: 0,
}

/** The class of a call: the parameters that prices depend on. */
export function costClass(query: { readonly num: number; readonly device: string | null }): string {
  return `${query.num}/${query.device ?? '-'}`
}

/**
 * The provable lower bound of the balance; null while none was ever seen. Two bounds hold at once. From the newest balance
 * everything is taken that ended since its call began. And of all balances told since then, the one of the call that the
 * API charged last lacks nothing but calls that are still open: the least of them is no greater.
 */
export function lowestBalance(account: Account): number | null {
  const { seen, spentSince, told, reserved, uncertain } = account
  if (seen === null) return null
  const newest = seen.remaining - spentSince
  const least = told === null ? newest : Math.min(seen.remaining, told.least) - told.untold
  return Math.max(newest, least) - reserved - uncertain
}
