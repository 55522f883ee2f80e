// Describes an account: its balance, the reported balances, and its spending per day and month.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { Misuse } from '../../base/errors.ts'
import { type Cron, dueBetween, nextAfter } from '../../base/time/cron.ts'
import { dayMs, formatDate, instantsOf, wallTime } from '../../base/time/zone.ts'

/** An account. Times are in milliseconds and come from the database clock. */
export interface Account {
  /** Number of calls started so far. Calls are numbered in the order of their start. */
  readonly seq: number
  /** Total credits used by settled calls. */
  readonly usedTotal: number
  /** Balance from the answer whose call started last, or null before the first answer. */
  readonly seen: BalanceReading | null
  /** True if a lost record may contain a later balance that is lower than `seen`. */
  readonly doubted: boolean
  /** Credits used by calls that ended after the call that reported `seen` began. `seen` may omit these credits. */
  readonly spentSince: number
  /** Balances of the current tracking period, which began shortly before the call of `seen`; null before any report. */
  readonly reported: ReportedBalances | null
  /** Like `reported`, but since a later time. Replaces `reported` if the call of `seen` started after that time. */
  readonly reportedNext: ReportedBalances | null
  /** Credits set aside for calls in flight. */
  readonly reserved: number
  readonly inFlight: number
  /** Credits held for calls with an unknown outcome. */
  readonly uncertain: number
  /** Floor that last stopped calls; null if there are enough credits. */
  readonly drainedFloor: number | null
  /** Number of calls sent to determine the balance since the last reported balance. */
  readonly blindCalls: number
  readonly probeGranted: boolean
  readonly lastProbeAt: number | null
  readonly notBefore: number | null
  readonly rateNextAt: number | null
  readonly slowdowns: number
  /** Fingerprints of keys rejected by the API. */
  readonly blockedKeys: readonly string[]
  /** Fingerprints of keys for which this balance was reported. Empty until a balance is reported. */
  readonly keys: readonly string[]
  /** Fingerprints of keys that belong to a different balance. */
  readonly foreignKeys: readonly string[]
  /**
   * Credits per call that were deducted but not billed: external spend, or missing or understated bills. `now`
   * covers the current window of calls. `last` covers the previous window, and is null until one window is complete.
   */
  readonly external: { readonly now: number; readonly last: number | null }
  readonly day: string | null
  readonly daySpent: number
  /** First day of the current budget month. */
  readonly month: string | null
  readonly monthSpent: number
}

/** A balance, with the number of the call that reported it. */
interface BalanceReading {
  readonly seq: number
  readonly at: number
  readonly remaining: number
}

/** Balances reported by responses that arrived after call number `seq` had started. */
interface ReportedBalances {
  readonly seq: number
  readonly least: number
  /** Credits used by answers that reported no balance. */
  readonly untold: number
}

export const constants = {
  /** Assumed cost before any cost is known. */
  firstBound: 10,
  /** A stopped account resumes when the balance exceeds the floor by this multiple of the highest cost. */
  hysteresis: 2,
  /** If the newest balance is older than this, calls are sent one at a time, because others may have spent credits. */
  oldestSightingMs: 600_000,
  /** Maximum delay between the end of a call on our side and its charge. */
  graceMs: 120_000,
  /** Number of calls, with retries, that are sent one at a time after a renewal or while no balance is known. */
  blindCalls: 5,
  /** Pause between calls that are made one at a time to learn the balance. */
  probePauseMs: 2_000,
  /** Number of costs from which each maximum is computed. A maximum of fewer costs is not trusted as a bound. */
  trustedAfter: 30,
  /** An outlier is at least this many times the second highest cost. A call sent alone ignores outliers. */
  oddFactor: 10,
  /** Until the maximum is trusted, the bound is this multiple of the highest cost, to protect the balance. */
  youngFactor: 4,
  /** Number of unreadable calls, including retries, after which a task's outcome is recorded as unknown. */
  unreadCalls: 3,
  /** Number of failed calls with readable replies after which a task fails. */
  failedCalls: 5,
  /** A task counts as the cause after this many worker deaths during its calls. */
  deaths: 3,
  /** Wait after the first rate-limit response. Each further rate-limit response doubles the wait. */
  slowdownMs: 1_000,
  longestSlowdownMs: 60_000,
  /** Number of calls over which external spend is measured. With fewer than `first` calls, there is no estimate. */
  externalCalls: { first: 10, whole: 30 },
} as const

/** Returns the price class of a call: the parameters that determine its price. */
export function costClass(query: { readonly num: number; readonly device: string | null }): string {
  return `${query.num}/${query.device ?? '-'}`
}

/**
 * Returns a provable lower bound on the balance, or null if no balance was ever reported. The first bound is the newest
 * balance minus the cost of all calls that ended since the reporting call started. The second bound is the lowest
 * balance reported since then. The balance from the call charged last reflects the cost of all calls except open calls.
 */
export function lowestBalance(account: Account): number | null {
  const { seen, spentSince, reported, reserved, uncertain } = account
  if (seen === null) return null
  const newest = seen.remaining - spentSince
  const least =
    reported === null ? newest : Math.min(seen.remaining, reported.least) - reported.untold
  // Understated costs look like external spend, so the lower value is used.
  const untrue = account.external.now > 0 || (account.external.last ?? 0) > 0
  const proved = untrue ? Math.min(newest, least) : Math.max(newest, least)
  return proved - reserved - uncertain
}

/** Periods to search for the last renewal of monthly, yearly and leap-day plans. */
const lookbacks = [62, 400, 3000].map((days) => days * dayMs)

/**
 * Returns the budget month of an instant: from renewal to renewal, or the calendar month in the zone if renewals are
 * unknown. The month is cached until it ends, because each reservation needs it.
 */
export function monthsOf(renewal: Cron | null, zone: string) {
  let kept = { from: Infinity, month: '', ends: -Infinity }
  return (time: number) => {
    if (time < kept.from || time >= kept.ends) {
      kept = renewalMonth(renewal, zone, time) ?? calendarMonth(zone, time)
    }
    return { month: kept.month, ends: kept.ends }
  }
}

function renewalMonth(renewal: Cron | null, zone: string, time: number) {
  if (renewal === null) return null
  const until = new Date(time)
  for (const back of lookbacks) {
    const last = dueBetween(renewal, zone, { after: new Date(time - back), until }).at(-1)
    if (last === undefined) continue
    const ends = nextAfter(renewal, zone, until)?.getTime() ?? Infinity
    return { from: last.at.getTime(), month: formatDate(wallTime(zone, last.at)), ends }
  }
  return null
}

function calendarMonth(zone: string, time: number) {
  const wall = new Date(wallTime(zone, new Date(time)))
  const first = (more: number) => Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + more, 1)
  const from = instantsOf(zone, first(0))[0] ?? time
  return { from, month: formatDate(first(0)), ends: instantsOf(zone, first(1))[0] ?? time + dayMs }
}

/** A run's budget, or null if the run has no limit of its own. */
export type RunBudget = Awaited<ReturnType<typeof readRunBudgets>>[number]

export function readRunBudgets(db: Database, runs: readonly number[]) {
  return runBudgets(db)
    .where((eb) => eb('runs.id', '=', eb.fn.any(eb.val([...runs]))))
    .execute()
}

/** Reads the open runs that have their own budget. */
export async function readOpenBudgets(db: Database) {
  const rows = await runBudgets(db).where('runs.state', '=', 'open').execute()
  return rows.flatMap(({ budget, ...run }) => (budget === null ? [] : [{ ...run, budget }]))
}

function runBudgets(db: Database) {
  return db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select(({ eb }) => [
      'runs.id as run',
      'lists.name as list',
      'runs.budget',
      'runs.budget_used as gone',
      eb('runs.state', 'in', ['planning', 'open']).$castTo<boolean>().as('open'),
    ])
    .orderBy('runs.id')
}

/** Sets each run's total budget, or returns false and changes nothing if a run has already used more. */
export function setRunBudgets(
  db: Database,
  runs: readonly number[],
  budget: number,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const locked = await trx
      .selectFrom('runs')
      .select('budget_used as gone')
      .where('id', 'in', runs)
      .orderBy('id')
      .forNoKeyUpdate()
      .execute()
    if (locked.some(({ gone }) => gone > budget)) return false
    await trx.updateTable('runs').set({ budget }).where('id', 'in', runs).execute()
    return true
  })
}

/** A list's monthly budget, and the credits that the month's runs have used or reserved. */
interface ListBudget {
  readonly list: string
  /** Month, such as 2026-11. */
  readonly month: string
  readonly budget: number
  readonly gone: number
}

/** Reads the list budgets for the months of the given runs. */
export function readListBudgets(db: Database, runs: readonly number[]) {
  return readRows<ListBudget>(db, 'list_budgets_of_runs', { runs })
}

/** Reads all list budgets, for the month of the given day and the months of open runs. */
export function readAllListBudgets(db: Database, day: string) {
  return readRows<ListBudget>(db, 'list_budgets', { day })
}

/** Sets or removes a list's monthly budget. Throws if the month of `day` or of an open run is already over budget. */
export function setListBudget(
  db: Database,
  { list, budget, day }: { list: string; budget: number | null; day: string },
): Promise<void> {
  return db.transaction().execute(async (trx) => {
    // The statement itself checks the used credits, because workers may be buying at the same time.
    await trx
      .selectFrom('runs')
      .innerJoin('lists', 'lists.id', 'runs.list_id')
      .select('runs.id')
      .where('lists.name', '=', list)
      .where('runs.state', 'in', ['planning', 'open'])
      .orderBy('runs.id')
      .forNoKeyUpdate('runs')
      .execute()
    await trx.updateTable('lists').set({ budget }).where('name', '=', list).execute()
    const months = (await readAllListBudgets(trx, day)).filter((one) => one.list === list)
    for (const { month, budget: most, gone } of months) {
      if (most >= gone) continue
      throw new Misuse(
        `expected a budget of at least ${gone} credits for list ${list}, which has used or held them in ${month}, got ${most}; set --credits to the monthly total, or cancel the list's runs with ${npmRun('cancel')}`,
      )
    }
  })
}
