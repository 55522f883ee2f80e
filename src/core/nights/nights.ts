// Reads and records nights, finds overdue nights, and lists nights for the calendar.

import { npmRun } from '../../base/cli/commands.ts'
import { clock, secondsBetween, secondsOf } from '../../base/database/clock.ts'
import type { Database, Transaction } from '../../base/database/database.ts'
import { expressionBuilder, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { nextAfter, readCron } from '../../base/time/cron.ts'

/** Reads the database clock, which is authoritative because it is the same for every host. */
export async function databaseNow(db: Database): Promise<Date> {
  const { now } = await db.selectNoFrom(clock.as('now')).executeTakeFirstOrThrow()
  return now
}

/** Facts needed to decide about one schedule: its decided and postponed nights, and the open run of its list. */
export type NightFacts = Awaited<ReturnType<typeof readFacts>>

export async function readFacts(
  db: Database,
  subject: { schedule: string; list: string; account: string; kind: string },
) {
  // All facts are read in one snapshot. Otherwise, a night could appear undecided although its run already exists.
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const known = await trx
        .selectFrom('schedules')
        .select('known_until')
        .where('name', '=', subject.schedule)
        .executeTakeFirst()
      const since = known?.known_until ?? new Date()
      const nights = await trx
        .selectFrom('nights')
        .select(['due_at as at', 'run_date as date', 'outcome'])
        .where('schedule', '=', subject.schedule)
        .where((eb) => eb.or([eb('due_at', '>', since), eb('outcome', 'is', null)]))
        .orderBy('due_at')
        .execute()
      return {
        known: since,
        /** Due times after `known` that already have a decision. */
        decided: new Set(nights.map(({ at }) => at.getTime())),
        waiting: nights
          .filter(({ outcome }) => outcome === null)
          .map(({ at, date }) => ({ at, date })),
        busy: await readBusy(trx, subject),
      }
    })
}

const taskCounts = expressionBuilder<DB, 'runs'>()
  .selectFrom('tasks')
  .select(({ fn }) => [
    fn.countAll<number>().as('tasks'),
    fn.countAll<number>().filterWhere('tasks.state', '=', 'open').as('open'),
  ])
  .whereRef('tasks.run_id', '=', 'runs.id')
  .as('counted')

async function readBusy(
  trx: Transaction,
  { list, account, kind }: { list: string; account: string; kind: string },
) {
  const busy = await trx
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .crossJoinLateral(taskCounts)
    .select((eb) => [
      'runs.id as run',
      'runs.run_date as date',
      'counted.tasks',
      'counted.open',
      eb
        .selectFrom('nights')
        .select('nights.schedule')
        .whereRef('nights.run_id', '=', 'runs.id')
        .orderBy('nights.due_at')
        .limit(1)
        // The schedule that started the run; null for a manual run.
        .as('schedule'),
      eb.exists(creditStops(trx, { account, kind })).$castTo<boolean>().as('starved'),
    ])
    .where('lists.name', '=', list)
    .where('runs.state', 'in', ['planning', 'open'])
    .orderBy('runs.id')
    .limit(1)
    .executeTakeFirst()
  return busy ?? null
}

/** Selects stops that block an account until it has credits. */
function creditStops(db: Database, { account, kind }: { account: string; kind: string }) {
  return db
    .selectFrom('stops')
    .innerJoin('accounts', 'accounts.id', 'stops.account_id')
    .where('accounts.name', '=', account)
    .where('accounts.kind', '=', kind)
    .where('stops.reason', 'in', ['credit_floor', 'budget'])
    .where('stops.cleared_at', 'is', null)
    .where((eb) => eb.or([eb('stops.until', 'is', null), eb('stops.until', '>', clock)]))
}

/** Id of a list; null if no list with this name has been read before. */
export async function findList(db: Database, name: string): Promise<number | null> {
  const found = await db
    .selectFrom('lists')
    .select('id')
    .where('name', '=', name)
    .where((eb) =>
      eb.exists(eb.selectFrom('list_queries').whereRef('list_queries.list_id', '=', 'lists.id')),
    )
    .executeTakeFirst()
  return found?.id ?? null
}

/** Milliseconds since a scheduler last checked its schedules; null if never. Ignores times in the future. */
export async function lastLook(db: Database): Promise<number | null> {
  const { seconds } = await db
    .selectFrom('schedules')
    .select(({ fn }) => secondsBetween(fn.max<Date | null>('seen_at'), clock).as('seconds'))
    .where('seen_at', '<=', clock)
    .executeTakeFirstOrThrow()
  return seconds === null ? null : seconds * 1000
}

// A night without an outcome is overdue after this time, twice the grace period.
const patienceMs = 10 * 60_000

export interface Overdue {
  readonly schedule: string
  readonly dueAt: Date
  readonly problem: string
}

export async function readWatched(db: Database) {
  const rows = await db
    .selectFrom('schedules')
    .select((eb) => [
      'name',
      'cron',
      'zone',
      'known_until as known',
      eb
        .selectFrom('nights')
        .select(({ fn }) => fn.min<Date | null>('due_at').as('first'))
        .whereRef('nights.schedule', '=', 'schedules.name')
        .where('nights.outcome', 'is', null)
        .as('waiting'),
    ])
    .where('enabled', '=', true)
    .orderBy('name')
    .execute()
  return rows.map(({ cron, ...row }) => {
    const reading = readCron(cron)
    // The pattern is null if it can no longer be parsed.
    return { ...row, cron: reading.kind === 'cron' ? reading.cron : null }
  })
}

export async function overdueNights(db: Database): Promise<readonly Overdue[]> {
  return findOverdue(await readWatched(db), await databaseNow(db))
}

/** Finds undecided nights that are long overdue, and nights that are still waiting when the next night is due. */
export function findOverdue(watches: Awaited<ReturnType<typeof readWatched>>, now: Date) {
  return watches.flatMap(({ name: schedule, cron, zone, known, waiting }) => {
    const overdueAfter = (time: Date) => {
      const due = cron === null ? null : nextAfter(cron, zone, time)
      return due === null || due.getTime() + patienceMs > now.getTime() ? null : due
    }
    const found: Overdue[] = []
    const undecided = overdueAfter(known)
    if (undecided !== null) {
      const problem = `no outcome was recorded; check that the scheduler is running: ${npmRun('nightly')}`
      found.push({ schedule, dueAt: undecided, problem })
    }
    if (waiting !== null && overdueAfter(waiting) !== null) {
      const problem = 'the night is still waiting for an older run, although the next night is due'
      found.push({ schedule, dueAt: waiting, problem })
    }
    return found
  })
}

export type LastNight = Awaited<ReturnType<typeof readLastNights>>[number]

export async function readLastNights(db: Database) {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom('nights')
        .distinctOn('schedule')
        .selectAll()
        .orderBy('schedule')
        .orderBy('due_at', 'desc')
        .as('night'),
    )
    .leftJoin('runs', 'runs.id', 'night.run_id')
    .crossJoinLateral(taskCounts)
    .select([
      'night.schedule',
      'night.due_at',
      'night.run_date',
      'night.outcome',
      'night.note',
      'runs.id as run',
      'runs.state as run_state',
      'counted.tasks',
      'counted.open',
    ])
    .orderBy('night.schedule')
    .execute()
}

export function countNights(db: Database, since: Date) {
  return db
    .selectFrom('nights')
    .select(({ fn }) => [
      'schedule',
      fn.coalesce('outcome', sql.lit('waiting')).as('outcome'),
      fn.countAll<number>().as('nights'),
    ])
    .where('decided_at', '>', since)
    .groupBy(['schedule', 'nights.outcome'])
    .orderBy('schedule')
    .orderBy('outcome')
    .execute()
}

/** True if run `r` has a readable answer or skipped all its queries. With `exists`, Postgres would join all answers. */
export const hasAnswer = sql<boolean>`((
  select true
  from tasks t
  join searches s on s.id = t.search_id
  where t.run_id = r.id
    and t.state in ('answered', 'reused')
    and s.parse_error is null
  limit 1
) or (
  select bool_and(t.state = 'not_asked')
  from tasks t
  where t.run_id = r.id
))`

/** Reads when each enabled schedule's last good night was due, and counts the nights decided since then. */
export function readGoodNights(db: Database) {
  return db
    .selectFrom('schedules')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('nights')
          .innerJoin('runs as r', 'r.id', 'nights.run_id')
          .select('nights.due_at')
          .whereRef('nights.schedule', '=', 'schedules.name')
          .where('r.state', '=', 'done')
          .where('r.suspect', '=', false)
          .where(hasAnswer)
          .orderBy('nights.due_at', 'desc')
          .limit(1)
          .as('good'),
      (join) => join.onTrue(),
    )
    .select((eb) => [
      'schedules.name as schedule',
      secondsOf(eb.ref('good.due_at')).as('seconds'),
      eb
        .selectFrom('nights')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('nights.schedule', '=', 'schedules.name')
        .where('nights.outcome', 'is not', null)
        .where(
          'nights.due_at',
          '>',
          eb.fn.coalesce('good.due_at', eb.cast<Date>(eb.val('-infinity'), 'timestamptz')),
        )
        .$asScalar()
        .$notNull()
        .as('nights_since'),
    ])
    .where('schedules.enabled', '=', true)
    .orderBy('schedules.name')
    .execute()
}

/** A list's run on a date, or a due time that started no run. */
export interface CalendarEntry {
  readonly list: string
  readonly run_date: string
  readonly run: number | null
  readonly kind: string
  readonly state: string
  readonly schedule: string | null
  readonly outcome: string | null
  readonly note: string | null
  readonly suspect: boolean
  /** Anomalies of the run, whether or not the run is excluded. */
  readonly reasons: readonly string[]
  /** Queries to be bought, and queries with a readable answer. Both numbers are null until the run is judged. */
  readonly asked: number | null
  readonly answered: number | null
  readonly spent: number
  /** Credits reserved for calls with an unknown outcome. */
  readonly uncertain: number
}

export function readCalendar(
  db: Database,
  { since, until, limit }: { since: string; until: string; limit: number },
) {
  return readRows<CalendarEntry>(db, 'read_calendar', { since, until, limit })
}
