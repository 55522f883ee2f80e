import { sql, type Transaction } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'

/** A time at which a schedule is due, and the local date it counts for. */
export interface DueTime {
  readonly at: Date
  readonly date: string
}

/** The clock that decides: that of the database, the same for every host. */
export async function databaseNow(db: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return rows[0]?.now ?? new Date()
}

/** Notes that all times up to `known` have been decided. */
export async function advance(db: Database, schedule: string, known: Date): Promise<void> {
  await sql`
    update schedules
    set known_until = greatest(known_until, ${known}),
      seen_at = clock_timestamp()
    where name = ${schedule}`.execute(db)
}

/** The open run that stands in the way of a list's next one. */
export interface BusyRow {
  readonly run: number
  readonly date: string
  readonly schedule: string | null
  readonly starved: boolean
  readonly tasks: number
  readonly open: number
}

export interface FactRows {
  readonly known: Date
  readonly decided: readonly Date[]
  readonly waiting: readonly DueTime[]
  readonly busy: BusyRow | null
}

/** What a decision about one schedule is made from, as of one moment. */
export async function readFacts(
  db: Database,
  subject: { schedule: string; list: string; account: string; kind: string },
): Promise<FactRows> {
  // One snapshot: a night that another scheduler decides meanwhile must not look undecided beside its own run.
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
      const nights = await sql<{ at: Date; date: string; waits: boolean }>`
        select due_at as at, run_date as date, outcome is null as waits
        from nights
        where schedule = ${subject.schedule}
          and (due_at > ${since} or outcome is null)
        order by due_at`.execute(trx)
      return {
        known: since,
        decided: nights.rows.map(({ at }) => at),
        waiting: nights.rows.filter(({ waits }) => waits).map(({ at, date }) => ({ at, date })),
        busy: await readBusy(trx, subject),
      }
    })
}

async function readBusy(
  trx: Transaction<DB>,
  { list, account, kind }: { list: string; account: string; kind: string },
): Promise<BusyRow | null> {
  const { rows } = await sql<BusyRow>`
    select
      r.id as run, r.run_date as date,
      (select n.schedule from nights n where n.run_id = r.id order by n.due_at limit 1) as schedule,
      exists (
        select
        from stops s
        join accounts a on a.id = s.account_id
        where a.name = ${account}
          and a.kind = ${kind}
          and s.reason in ('credit_floor', 'budget')
          and s.cleared_at is null
          and (s.until is null or s.until > clock_timestamp())
      ) as starved,
      counted.tasks, counted.open
    from runs r
    join lists l on l.id = r.list_id and l.name = ${list}
    cross join lateral (
      select count(*) as tasks, count(*) filter (where t.state = 'open') as open
      from tasks t
      where t.run_id = r.id
    ) counted
    where r.state in ('planning', 'open')
    order by r.id
    limit 1`.execute(trx)
  return rows[0] ?? null
}

/** Nights that make no run: put off (no outcome), missed, skipped or failed. A decided one stays as it is; gives the others. */
export async function recordNights(
  db: Database,
  schedule: string,
  what: {
    readonly nights: readonly DueTime[]
    readonly outcome: 'missed' | 'skipped' | 'failed' | null
    readonly note: string
    readonly known: Date
  },
): Promise<readonly DueTime[]> {
  const { nights, outcome, note, known } = what
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ at: Date }>`
      insert into nights (schedule, due_at, run_date, outcome, note)
      select ${schedule}, at, date, ${outcome}, ${note}
      from unnest(
        ${nights.map(({ at }) => at.toISOString())}::timestamptz[],
        ${nights.map(({ date }) => date)}::date[]
      ) as due (at, date)
      on conflict (schedule, due_at) do update
      set outcome = excluded.outcome,
        note = excluded.note,
        decided_at = clock_timestamp()
      where nights.outcome is null
        and excluded.outcome is not null
      returning due_at as at`.execute(trx)
    await advance(trx, schedule, known)
    const recorded = new Set(rows.map(({ at }) => at.getTime()))
    return nights.filter(({ at }) => recorded.has(at.getTime()))
  })
}

/** Why a night could not be taken: another scheduler had it, or another run of the list came in between. */
export class NightTaken extends Error {}

/** Takes a night for a run, within the transaction that plans it: either both happen or neither. */
export async function takeNight(
  trx: Transaction<DB>,
  night: DueTime & {
    readonly schedule: string
    readonly outcome: 'ran' | 'late'
    readonly run: number
    readonly note: string | null
  },
): Promise<void> {
  const taken = await sql`
    insert into nights (schedule, due_at, run_date, outcome, run_id, note)
    values (${night.schedule}, ${night.at}, ${night.date}, ${night.outcome}, ${night.run}, ${night.note})
    on conflict (schedule, due_at) do update
    set outcome = excluded.outcome,
      run_id = excluded.run_id,
      note = excluded.note,
      decided_at = clock_timestamp()
    where nights.outcome is null
    returning 1`.execute(trx)
  if (taken.rows.length === 0) throw new NightTaken('another scheduler took the night')
  // The row of the list is locked here: nobody else can be planning a run of it.
  const others = await sql`
    select
    from runs r
    join runs own on own.list_id = r.list_id and own.id = ${night.run}
    where r.id <> own.id
      and r.state in ('planning', 'open')
    limit 1`.execute(trx)
  if (others.rows.length > 0) throw new NightTaken('another run of the list is open')
}

/** Adds a sentence to the nights of a run, without touching their outcome. */
export async function noteRun(db: Database, run: number, note: string): Promise<void> {
  await sql`
    update nights
    set note = concat_ws('; ', note, ${note}::text)
    where run_id = ${run}`.execute(db)
}

/** The number of a list that has been read before; null for one that has not. */
export async function findList(db: Database, name: string): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    select id
    from lists
    where name = ${name}
      and exists (select from list_queries where list_id = lists.id)`.execute(db)
  return rows[0]?.id ?? null
}
