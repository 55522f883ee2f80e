// What is known of runs when they are judged.

import { otherQuery, paidRefusal } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { type Expression, sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'

/** What a finished run came to. */
export interface NightFigures {
  readonly run_id: number
  readonly asked: number
  readonly answered: number
  readonly empty: number
  readonly unreadable: number
  readonly depth: number | null
  readonly price: number | null
  /** From the making of the run to its end. */
  readonly minutes: number
  /** Of these, minutes in which nothing of it could be bought. */
  readonly paused_minutes: number
  readonly workers: number
}

/** The same of a run that is being judged, with what its unreadable answers are. */
export interface JudgedNight extends NightFigures {
  readonly paid_refusal: number
  readonly other_query: number
}

/** A run that ended and was not judged since. */
interface EndedRun {
  readonly id: number
  readonly list: number
  /** False: it was cancelled, or none of its queries was asked. It says nothing about a night. */
  readonly complete: boolean
}

/** Why a run is left out, what else is odd about it, and since when that is usual. */
export interface NightJudgement {
  /** Why its answers are left out of shares and trends, a sentence each. */
  readonly reasons: readonly string[]
  /** What is odd about it and hides nothing, a sentence each. */
  readonly remarks: readonly string[]
  /** The first of the three runs alike of which this is the third; null: nothing became usual with this run. */
  readonly usualFrom: number | null
}

/** Runs that ended and were not judged since, the oldest first. */
export async function readEnded(db: Database): Promise<readonly EndedRun[]> {
  return db
    .selectFrom('runs')
    .leftJoin('night_health as health', 'health.run_id', 'runs.id')
    .select((eb) => [
      'runs.id',
      'runs.list_id as list',
      eb
        .and([
          eb('runs.state', '=', 'done'),
          eb.exists(
            eb
              .selectFrom('tasks')
              .whereRef('tasks.run_id', '=', 'runs.id')
              .where('tasks.state', 'not in', ['reused', 'not_asked', 'unaffordable', 'cancelled']),
          ),
        ])
        .$castTo<boolean>()
        .as('complete'),
    ])
    .where('runs.state', 'in', ['done', 'cancelled'])
    .where('runs.finished_at', 'is not', null)
    .where((eb) =>
      eb.or([
        eb('health.judged_at', 'is', null),
        eb('health.judged_at', '<', eb.ref('runs.finished_at')),
      ]),
    )
    .orderBy('runs.id')
    .execute()
}

/** What a run came to, without the queries that rested or whose older answers were young enough. */
export async function readNight(db: Database, run: number): Promise<JudgedNight> {
  const { rows } = await sql<JudgedNight>`
    select
      runs.id as run_id, counted.*, paid.*, extract(epoch from runs.finished_at - runs.created_at)::float8 / 60 as minutes,
      paused.minutes as paused_minutes
    from runs
    cross join lateral (
      select
        count(*) as asked,
        count(*) filter (where searches.parse_error is null and searches.id is not null) as answered,
        count(*) filter (where searches.parse_error is null and searches.result_count = 0) as empty,
        count(*) filter (where searches.parse_error is not null) as unreadable,
        count(*) filter (where starts_with(searches.parse_error, ${paidRefusal})) as paid_refusal,
        count(*) filter (where starts_with(searches.parse_error, ${otherQuery})) as other_query,
        avg(searches.depth) filter (where searches.parse_error is null and searches.result_count > 0)::float8 as depth
      from tasks
      left join searches on searches.id = tasks.search_id
      where tasks.run_id = runs.id
        and tasks.state not in ('reused', 'not_asked')
    ) as counted
    cross join lateral (
      select
        avg(calls.credits_used) filter (where searches.id is not null)::float8 as price,
        count(distinct calls.worker) as workers
      from tasks
      join calls on calls.task_id = tasks.id and calls.outcome in ('settled', 'unknown')
      left join searches on searches.call_id = calls.id
      where tasks.run_id = runs.id
        and tasks.state not in ('reused', 'not_asked')
    ) as paid
    cross join lateral (
      ${pausedMinutes}
    ) as paused
    where runs.id = ${run}`.execute(db)
  return only(rows)
}

/**
 * Figures of the newest runs of a list before one of its runs that show what is usual, at most fourteen: nothing is odd
 * about them. Where three odd runs alike have become the usual, it begins with these three.
 */
export function usualNights(list: Expression<number>, run: Expression<number>) {
  return sql<NightFigures>`
    select ${figureColumns}
    from night_health as health
    join runs as usual on usual.id = health.run_id
    left join lateral (
      select change.run_id as third, change.usual_from as first
      from night_health as change
      join runs as changed on changed.id = change.run_id
      where changed.list_id = ${list}
        and changed.id < ${run}
        and change.usual_from is not null
      order by changed.id desc
      limit 1
    ) as turn on true
    where usual.list_id = ${list}
      and usual.id < ${run}
      and ${hasFigures}
      and case
        when usual.id <= turn.third then usual.id >= turn.first
        else not usual.suspect and cardinality(health.remarks) = 0
      end
    order by usual.id desc
    limit 14`
}

const figureColumns = sql`
  health.run_id, health.asked, health.answered, health.empty, health.unreadable, health.depth, health.price,
  health.minutes, health.paused_minutes, health.workers`

// A run that was cancelled, or without any answer, shows neither what is usual nor that something changed.
const hasFigures = sql<boolean>`(usual.state = 'done' and health.answered + health.unreadable > 0)`

/** What a run is judged by. */
export interface NightsBefore {
  /** Runs that show what is usual, the newest first. */
  readonly usual: readonly NightFigures[]
  /** The two runs directly before, whatever was odd about them, the newest first. */
  readonly last: readonly NightFigures[]
}

/** What a run is judged by: earlier runs of its list. */
export async function readNightsBefore(
  db: Database,
  { id, list }: EndedRun,
): Promise<NightsBefore> {
  const { rows: usual } = await usualNights(
    sql<number>`${list}::bigint`,
    sql<number>`${id}::bigint`,
  ).execute(db)
  const { rows: last } = await sql<NightFigures>`
    select ${figureColumns}
    from night_health as health
    join runs as usual on usual.id = health.run_id
    where usual.list_id = ${list}
      and usual.id < ${id}
      and ${hasFigures}
    order by usual.id desc
    limit 2`.execute(db)
  return { usual, last }
}

/** Keeps the judgement of a run; when it was judged by two at once, both say the same. */
export async function saveHealth(
  db: Database,
  { paid_refusal: _refused, other_query: _other, ...figures }: JudgedNight,
  { reasons, remarks, usualFrom }: NightJudgement,
): Promise<void> {
  const kept = { ...figures, reasons: [...reasons], remarks: [...remarks], usual_from: usualFrom }
  await db.transaction().execute(async (trx) => {
    await trx
      .updateTable('runs')
      .set({ suspect: reasons.length > 0 })
      .where('id', '=', figures.run_id)
      .execute()
    await trx
      .insertInto('night_health')
      .values(kept)
      .onConflict((conflict) =>
        conflict
          .column('run_id')
          .doUpdateSet((row) => ({ ...kept, judged_at: row.ref('excluded.judged_at') })),
      )
      .execute()
  })
}

// The time in which a run stood still, which its duration is judged without.

/**
 * Minutes of a run of `runs` in which nothing of it could be bought. An account is available from its first call of the run
 * to its last, while no stop stands. A stop counts where none of the run's accounts was available: of two accounts one may
 * go on while the other stands, or take over hours later. The time between the last call and a reopening counts too.
 */
const pausedMinutes = sql`
  with used as (
    select
      calls.account_id,
      tstzrange(min(calls.sent_at), max(greatest(calls.sent_at, calls.finished_at)), '[]') as span,
      max(greatest(calls.sent_at, calls.finished_at)) filter (where calls.sent_at < runs.opened_at) as last_before
    from tasks
    join calls on calls.task_id = tasks.id
    where tasks.run_id = runs.id
    group by calls.account_id
  ),
  accounts as (
    select used.*, coalesce(stopped.times, '{}') as stopped
    from used
    left join lateral (
      -- A stop with an end of its own holds nobody back after that, also where nobody came to lift it.
      select range_agg(tstzrange(stops.since, greatest(stops.since, coalesce(least(stops.cleared_at, stops.until), 'infinity')))) as times
      from stops
      where stops.account_id = used.account_id
        and stops.since < runs.finished_at
    ) as stopped on true
  ),
  pauses as (
    select
      range_agg(stopped) - range_agg(tstzmultirange(span) - stopped)
        + tstzmultirange(
          tstzrange(
            coalesce(max(last_before), runs.created_at),
            greatest(coalesce(max(last_before), runs.created_at), runs.opened_at)
          )
        ) as times
    from accounts
  )
  select coalesce(sum(extract(epoch from upper(pause) - lower(pause))), 0)::float8 / 60 as minutes
  from pauses
  cross join lateral unnest(
    pauses.times * tstzmultirange(tstzrange(runs.created_at, greatest(runs.created_at, runs.finished_at)))
  ) as pause`
