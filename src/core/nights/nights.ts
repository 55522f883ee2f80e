// Reads and records nights, finds overdue ones, and lists them for the calendar.

import { npmRun } from '../../base/cli/commands.ts'
import { clock, secondsBetween } from '../../base/database/clock.ts'
import type { Database, Transaction } from '../../base/database/database.ts'
import { type Insertable, sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { DB } from '../../base/database/schema.ts'
import { type Due, nextAfter, readCron } from '../../base/time/cron.ts'

/** Reads the clock of the database, which is authoritative because it is the same for every host. */
export async function databaseNow(db: Database): Promise<Date> {
  const { now } = await db.selectNoFrom(clock.as('now')).executeTakeFirstOrThrow()
  return now
}

/** Records that all times up to `known` have been decided. */
export async function advance(db: Database, schedule: string, known: Date): Promise<void> {
  await db
    .updateTable('schedules')
    .set((eb) => ({
      known_until: eb.fn<Date>('greatest', ['known_until', eb.val(known)]),
      seen_at: clock,
    }))
    .where('name', '=', schedule)
    .execute()
}

/**
 * Facts for deciding about one schedule: the time up to which all nights are decided, and the nights decided after it.
 * Also the postponed nights, oldest first, and the open run of its list.
 */
export type NightFacts = Awaited<ReturnType<typeof readFacts>>

/** Reads the facts for deciding about one schedule, as of one moment. */
export async function readFacts(
  db: Database,
  subject: { schedule: string; list: string; account: string; kind: string },
) {
  // Read in one snapshot, so that a night that another scheduler decides at the same time does not look undecided
  // although its run exists.
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
        decided: nights.map(({ at }) => at),
        waiting: nights
          .filter(({ outcome }) => outcome === null)
          .map(({ at, date }) => ({ at, date })),
        busy: await readBusy(trx, subject),
      }
    })
}

/** The open run that blocks a list's next one; null if there is none. */
async function readBusy(
  trx: Transaction,
  { list, account, kind }: { list: string; account: string; kind: string },
) {
  const busy = await trx
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .crossJoinLateral((eb) =>
      eb
        .selectFrom('tasks')
        .select(({ fn }) => [
          fn.countAll<number>().as('tasks'),
          fn.countAll<number>().filterWhere('tasks.state', '=', 'open').as('open'),
        ])
        .whereRef('tasks.run_id', '=', 'runs.id')
        .as('counted'),
    )
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

/** Stops that block an account until it has credits again. */
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

/**
 * Records nights without a run: postponed (no outcome), missed, skipped or failed. Leaves decided nights unchanged,
 * and returns the other nights.
 */
export async function recordNights(
  db: Database,
  schedule: string,
  what: {
    readonly nights: readonly Due[]
    readonly outcome: 'missed' | 'skipped' | 'failed' | null
    readonly note: string
    readonly known: Date
  },
): Promise<readonly Due[]> {
  const { nights, outcome, note, known } = what
  return db.transaction().execute(async (trx) => {
    const rows = await trx
      .insertInto('nights')
      .columns(['schedule', 'due_at', 'run_date', 'outcome', 'note'])
      .expression((eb) =>
        eb
          .selectFrom(rowsOf(nights).as('due'))
          .select([
            eb.val(schedule).as('schedule'),
            'due.at',
            'due.date',
            eb.val(outcome).as('outcome'),
            eb.val(note).as('note'),
          ]),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['schedule', 'due_at'])
          .doUpdateSet((eb) => ({
            outcome: eb.ref('excluded.outcome'),
            note: eb.ref('excluded.note'),
            decided_at: clock,
          }))
          .where('nights.outcome', 'is', null)
          .where('excluded.outcome', 'is not', null),
      )
      .returning('due_at')
      .execute()
    await advance(trx, schedule, known)
    const recorded = new Set(rows.map(({ due_at: at }) => at.getTime()))
    return nights.filter(({ at }) => recorded.has(at.getTime()))
  })
}

function rowsOf(nights: readonly Due[]) {
  return sql<Due>`(
    select at, date
    from unnest(
      ${nights.map(({ at }) => at.toISOString())}::timestamptz[],
      ${nights.map(({ date }) => date)}::date[]
    ) as nights (at, date)
  )`
}

/** Error for a night that another scheduler has claimed, or whose list already has another run. */
export class NightTaken extends Error {}

/** Claims a night for a run within the transaction that plans the run, so that either both happen or neither. */
export async function takeNight(
  trx: Transaction,
  night: Due & {
    readonly schedule: string
    readonly outcome: 'ran' | 'late'
    readonly run: number
    readonly note: string | null
  },
): Promise<void> {
  const { schedule, outcome, note } = night
  const taken = await trx
    .insertInto('nights')
    .values({
      ...{ schedule, due_at: night.at, run_date: night.date, outcome, note },
      run_id: night.run,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['schedule', 'due_at'])
        .doUpdateSet((eb) => ({
          outcome: eb.ref('excluded.outcome'),
          run_id: eb.ref('excluded.run_id'),
          note: eb.ref('excluded.note'),
          decided_at: clock,
        }))
        .where('nights.outcome', 'is', null),
    )
    .returning('schedule')
    .executeTakeFirst()
  if (taken === undefined) throw new NightTaken('another scheduler took the night')
  // The list's row is locked here, so no other process can be planning a run of it.
  const other = await trx
    .selectFrom('runs')
    .innerJoin('runs as own', 'own.list_id', 'runs.list_id')
    .select('runs.id')
    .where('own.id', '=', night.run)
    .whereRef('runs.id', '<>', 'own.id')
    .where('runs.state', 'in', ['planning', 'open'])
    .limit(1)
    .executeTakeFirst()
  if (other !== undefined) throw new NightTaken('another run of the list is open')
}

/** Adds a sentence to the nights of a run without changing their outcome. */
export async function noteRun(db: Database, run: number, note: string): Promise<void> {
  await db
    .updateTable('nights')
    .set((eb) => ({
      note: eb.fn<string>('concat_ws', [
        sql.lit('; '),
        'note',
        eb.cast<string>(eb.val(note), 'text'),
      ]),
    }))
    .where('run_id', '=', run)
    .execute()
}

/** Id of a list that has been read before; null if it has not. */
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

/** Stored state of a schedule between two ticks. */
export type WatchRow = Awaited<ReturnType<typeof readWatches>>[number]

export async function readWatches(db: Database) {
  return db
    .selectFrom('schedules')
    .select(['name', 'list', 'cron', 'zone', 'missed', 'overlap', 'enabled', 'known_until'])
    .orderBy('name')
    .execute()
}

/** Stores a schedule as currently defined in the file; `known_until` never decreases. */
export async function saveWatch(
  db: Database,
  { name, ...watch }: Omit<Insertable<DB['schedules']>, 'seen_at'>,
): Promise<void> {
  const kept = { ...watch, seen_at: clock }
  await db
    .insertInto('schedules')
    .values({ name, ...kept })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet(({ fn }) => ({
        ...kept,
        known_until: fn<Date>('greatest', ['schedules.known_until', 'excluded.known_until']),
      })),
    )
    .execute()
}

/** Disables a schedule that is no longer in the file. */
export async function disable(db: Database, name: string): Promise<void> {
  await db.updateTable('schedules').set({ enabled: false }).where('name', '=', name).execute()
}

/** Resets a schedule whose nights were decided ahead of time to now; its runs continue. */
export async function callBack(db: Database, name: string, now: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.updateTable('schedules').set({ known_until: now }).where('name', '=', name).execute()
    // Deletes nights that were decided ahead of time: otherwise, they would look decided when they become due.
    await trx
      .deleteFrom('nights')
      .where('schedule', '=', name)
      .where('due_at', '>', now)
      .where('run_id', 'is', null)
      .execute()
  })
}

/** Milliseconds since a scheduler last checked its schedules; null if none ever did. Ignores times in the future. */
export async function lastLook(db: Database): Promise<number | null> {
  const { seconds } = await db
    .selectFrom('schedules')
    .select(({ fn }) => secondsBetween(fn.max<Date | null>('seen_at'), clock).as('seconds'))
    .where('seen_at', '<=', clock)
    .executeTakeFirstOrThrow()
  return seconds === null ? null : seconds * 1000
}

// Twice the grace period for a night: a running scheduler would have decided the night long before.
const patienceMs = 10 * 60_000

export interface Overdue {
  readonly schedule: string
  readonly dueAt: Date
  readonly problem: string
}

/** Reads the enabled schedules from the database, without their file, each with its oldest postponed night. */
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
    // Null if the schedule's pattern can no longer be parsed.
    return { ...row, cron: reading.kind === 'cron' ? reading.cron : null }
  })
}

/** Nights that are due and have no outcome. */
export async function overdueNights(db: Database, now?: Date): Promise<readonly Overdue[]> {
  const watches = await readWatched(db)
  return watches.length === 0 ? [] : findOverdue(watches, now ?? (await databaseNow(db)))
}

/** Finds nights that are long overdue and undecided, and nights that still wait when the next one is due. */
export function findOverdue(
  watches: Awaited<ReturnType<typeof readWatched>>,
  now: Date,
): Overdue[] {
  return watches.flatMap(({ name: schedule, cron, zone, known, waiting }) => {
    const overdueAfter = (time: Date) => {
      const due = cron === null ? null : nextAfter(cron, zone, time)
      return due === null || due.getTime() + patienceMs > now.getTime() ? null : due
    }
    const found: Overdue[] = []
    const undecided = overdueAfter(known)
    if (undecided !== null) {
      const problem = `no outcome was recorded: is the scheduler running? (${npmRun('nightly')})`
      found.push({ schedule, dueAt: undecided, problem })
    }
    if (waiting !== null && overdueAfter(waiting) !== null) {
      const problem = 'it still waits for an older run, and the next night is due'
      found.push({ schedule, dueAt: waiting, problem })
    }
    return found
  })
}

/** Newest night of a schedule, and the progress of its run. */
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
    .crossJoinLateral((eb) =>
      eb
        .selectFrom('tasks')
        .select(({ fn }) => [
          fn.countAll<number>().as('tasks'),
          fn.countAll<number>().filterWhere('tasks.state', '=', 'open').as('open'),
        ])
        .whereRef('tasks.run_id', '=', 'runs.id')
        .as('counted'),
    )
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

/** Counts the nights decided since a time, by outcome. */
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

/** Outcome of one list on one date: a run, or a due time without one. */
export interface CalendarEntry {
  readonly list: string
  readonly run_date: string
  /** Null if a schedule was due and no run was created. */
  readonly run: number | null
  readonly kind: string
  readonly state: string
  readonly schedule: string | null
  readonly outcome: string | null
  readonly note: string | null
  readonly suspect: boolean
  /** Anomalies, whether the run is excluded or not. */
  readonly reasons: readonly string[]
  /** Number of queries to be bought, and of those with a readable answer; null until the run is judged. */
  readonly asked: number | null
  readonly answered: number | null
  readonly spent: number
  /** Credits reserved for calls with an unknown outcome. */
  readonly uncertain: number
}

/** Returns every run and every night without a run, by day and list, newest first. */
export function readCalendar(
  db: Database,
  { since, until, limit }: { since: string; until: string; limit: number },
) {
  return readRows<CalendarEntry>(db, 'read_calendar', { since, until, limit })
}
