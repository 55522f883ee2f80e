// An account: its balance, its observations, its days and months.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { type Cron, dueBetween, nextAfter } from '../../base/time/cron.ts'
import { dayMs, formatDate, instantsOf, wallTime } from '../../base/time/zone.ts'

/** One balance as the ledger knows it. Times are milliseconds on the clock of the database. */
export interface Account {
  /** Calls begun so far: orders them by their start. */
  readonly seq: number
  /** Credits used by all settled calls, ever. */
  readonly usedTotal: number
  /** The balance told by the answer whose call began last; null before the first. */
  readonly seen: BalanceReading | null
  /** Credits used by calls that ended after that answer's call began: not surely in its balance. */
  readonly spentSince: number
  /** Balances told since a moment before that answer's call began; null before the first. */
  readonly told: ReportedBalances | null
  /** The same since a later moment: takes its place as soon as the newest balance is of a call begun after it. */
  readonly toldNext: ReportedBalances | null
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
  /** Fingerprints of keys whose answers told this balance; empty before the first. */
  readonly keys: readonly string[]
  /** Fingerprints of keys that belong to another balance. */
  readonly foreignKeys: readonly string[]
  readonly external: ExternalSpend
  readonly day: string | null
  readonly daySpent: number
  /** The day on which the month began that is counted. */
  readonly month: string | null
  readonly monthSpent: number
}

/** Credits that the balance fell for each call beyond what bills say: by others, or by bills that are missing or too low. */
export interface ExternalSpend {
  /** Over the present stretch of calls. */
  readonly now: number
  /** Over the stretch before; null before the first is whole. */
  readonly last: number | null
}

/** A balance, told by the answer to the call with this place among all starts. */
export interface BalanceReading {
  readonly seq: number
  readonly at: number
  readonly remaining: number
  /** True: others may have been told less since, which nobody here remembers. */
  readonly doubted?: boolean
}

/** Balances told by answers that ended after so many calls had begun. */
export interface ReportedBalances {
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
  /** Calls that external spend is measured over, at least: below the first number nothing is concluded. */
  externalCalls: { first: 10, whole: 30 },
} as const

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
  // Bills that are too low prove nothing: what was told last is all that is known then.
  const untrue = account.external.now > 0 || (account.external.last ?? 0) > 0
  const proved = untrue ? Math.min(newest, least) : Math.max(newest, least)
  return proved - reserved - uncertain
}

/** A month of an account: the day on which it began, and the moment at which it ends. */
interface Month {
  readonly month: string
  readonly ends: number
}

/** Spans in which the last renewal is looked for: plans of a month first, then of a year, then a leap day's. */
const lookbacks = [62, 400, 3000].map((days) => days * dayMs)

/**
 * Finds the month of an instant: from renewal to renewal where the plan's are told, otherwise the calendar's in the zone.
 * The month is cached until it ends, since each reservation asks for it.
 */
export function monthsOf(renewal: Cron | null, zone: string): (time: number) => Month {
  let kept = { from: Infinity, month: '', ends: -Infinity }
  return (time) => {
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
  const [first, next] = [0, 1].map((more) =>
    Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + more, 1),
  )
  const month = formatDate(first ?? 0)
  const begins = instantsOf(zone, first ?? 0)[0] ?? time
  return { from: begins, month, ends: instantsOf(zone, next ?? 0)[0] ?? time + dayMs }
}

/** A run and its budget. */
export interface RunBudget {
  readonly run: number
  readonly list: string
  /** Null: no limit of its own. */
  readonly budget: number | null
  /** Credits used, and those set aside for calls in flight. */
  readonly gone: number
  /** True while its tasks are bought. */
  readonly open: boolean
}

/** Reads these runs and their budgets. */
export function readRunBudgets(
  db: Database,
  runs: readonly number[],
): Promise<readonly RunBudget[]> {
  return runBudgets(db)
    .where('runs.id', 'in', [...runs, none])
    .execute()
}

/** No run has this number: a list of numbers must not be empty. */
const none = 0

/** Reads the open runs that have a budget of their own. */
export async function readOpenBudgets(
  db: Database,
): Promise<readonly (RunBudget & { readonly budget: number })[]> {
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
      eb('spent', '+', eb.ref('reserved')).as('gone'),
      eb('runs.state', 'in', ['planning', 'open']).$castTo<boolean>().as('open'),
    ])
    .orderBy('runs.id')
}

/**
 * Sets what each of these runs may use in all. Workers may buy meanwhile: false, and nothing is set, when one of the runs
 * has used more by then.
 */
export function setRunBudgets(
  db: Database,
  runs: readonly number[],
  budget: number,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const locked = await trx
      .selectFrom('runs')
      .select(({ eb }) => eb('spent', '+', eb.ref('reserved')).as('gone'))
      .where('id', 'in', runs)
      .orderBy('id')
      .forNoKeyUpdate()
      .execute()
    if (locked.some(({ gone }) => gone > budget)) return false
    await trx.updateTable('runs').set({ budget }).where('id', 'in', runs).execute()
    return true
  })
}

/** Budget of a list for the runs that are dated in one month, and how much of it is used or set aside. */
interface ListBudget {
  readonly list: string
  /** Like 2026-11. */
  readonly month: string
  readonly budget: number
  readonly gone: number
}

/** The lists that have a budget, in the months of these runs. */
export async function readListBudgets(
  db: Database,
  runs: readonly number[],
): Promise<readonly ListBudget[]> {
  const { rows } = await sql<ListBudget>`
    select
      lists.name as list, to_char(months.month, 'YYYY-MM') as month, lists.budget,
      sum(runs.spent + runs.reserved)::float8 as gone
    from (
      select distinct list_id, date_trunc('month', run_date) as month
      from runs
      where id = any(${runs}::bigint[])
    ) as months
    join lists on lists.id = months.list_id and lists.budget is not null
    join runs on runs.list_id = lists.id and date_trunc('month', runs.run_date) = months.month
    group by lists.id, months.month
    order by lists.name, months.month`.execute(db)
  return rows
}

/** Budgets of all lists that have one, for the months of their open runs and for the month of this day. */
export async function readListAllowances(
  db: Database,
  day: string,
): Promise<readonly ListBudget[]> {
  const { rows } = await sql<ListBudget>`
    select
      lists.name as list, to_char(months.month, 'YYYY-MM') as month, lists.budget,
      coalesce(sum(runs.spent + runs.reserved), 0)::float8 as gone
    from lists
    join lateral (
      select date_trunc('month', ${day}::date) as month
      union
      select date_trunc('month', open.run_date)
      from runs as open
      where open.list_id = lists.id and open.state in ('planning', 'open')
    ) as months on true
    left join runs on runs.list_id = lists.id and date_trunc('month', runs.run_date) = months.month
    where lists.budget is not null
    group by lists.id, months.month
    order by lists.name, months.month`.execute(db)
  return rows
}

/** Sets what a list may use in a month; null: as much as there is. */
export async function setListBudget(
  db: Database,
  list: string,
  budget: number | null,
): Promise<void> {
  await db.updateTable('lists').set({ budget }).where('name', '=', list).execute()
}
