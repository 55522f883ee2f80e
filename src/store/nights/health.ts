import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { only } from '../statement.ts'

/** What a finished run came to. */
export interface NightFigures {
  readonly run_id: number
  readonly asked: number
  readonly answered: number
  readonly empty: number
  readonly unreadable: number
  readonly depth: number | null
  readonly price: number | null
  readonly minutes: number
  readonly workers: number
}

/** A run that ended and was not judged since. */
export interface EndedRun {
  readonly id: number
  readonly list: number
}

/** Runs that ended and were not judged since, the oldest first. */
export async function readEnded(db: Database): Promise<readonly EndedRun[]> {
  const { rows } = await sql<EndedRun>`
    select runs.id, runs.list_id as list
    from runs
    left join night_health as health on health.run_id = runs.id
    where runs.state in ('done', 'cancelled')
      and runs.finished_at is not null
      and (health.judged_at is null or health.judged_at < runs.finished_at)
    order by runs.id`.execute(db)
  return rows
}

/** What a run came to, without the queries that rested or whose older answers were young enough. */
export async function readNight(db: Database, run: number): Promise<NightFigures> {
  const { rows } = await sql<NightFigures>`
    select
      runs.id as run_id, counted.*, paid.*, extract(epoch from runs.finished_at - runs.created_at)::float8 / 60 as minutes
    from runs
    cross join lateral (
      select
        count(*) as asked,
        count(*) filter (where searches.parse_error is null and searches.id is not null) as answered,
        count(*) filter (where searches.parse_error is null and searches.result_count = 0) as empty,
        count(*) filter (where searches.parse_error is not null) as unreadable,
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
    where runs.id = ${run}`.execute(db)
  return only(rows)
}

/** The newest runs of the list before this one that are not suspect, at most fourteen. */
export async function readNightsBefore(
  db: Database,
  { id, list }: EndedRun,
): Promise<readonly NightFigures[]> {
  const { rows } = await sql<NightFigures>`
    select
      health.run_id, health.asked, health.answered, health.empty, health.unreadable, health.depth, health.price,
      health.minutes, health.workers
    from night_health as health
    join runs on runs.id = health.run_id
    where runs.list_id = ${list}
      and runs.id < ${id}
      and not runs.suspect
      and health.asked > 0
    order by runs.id desc
    limit 14`.execute(db)
  return rows
}

/** Keeps the judgement of a run; when it was judged by two at once, both say the same. */
export async function saveHealth(
  db: Database,
  figures: NightFigures,
  reasons: readonly string[],
): Promise<void> {
  const {
    run_id: run,
    asked,
    answered,
    empty,
    unreadable,
    depth,
    price,
    minutes,
    workers,
  } = figures
  await db.transaction().execute(async (trx) => {
    await sql`update runs set suspect = ${reasons.length > 0} where id = ${run}`.execute(trx)
    await sql`
      insert into night_health (run_id, asked, answered, empty, unreadable, depth, price, minutes, workers, reasons)
      values (
        ${run}, ${asked}, ${answered}, ${empty}, ${unreadable}, ${depth}, ${price}, ${minutes}, ${workers},
        ${[...reasons]}::text[]
      )
      on conflict (run_id) do update
      set judged_at = excluded.judged_at,
        asked = excluded.asked,
        answered = excluded.answered,
        empty = excluded.empty,
        unreadable = excluded.unreadable,
        depth = excluded.depth,
        price = excluded.price,
        minutes = excluded.minutes,
        workers = excluded.workers,
        reasons = excluded.reasons`.execute(trx)
  })
}

/** Lists with runs that were judged in the last seven days: how many are suspect, and whether the newest is. */
export async function countSuspects(
  db: Database,
): Promise<readonly { readonly list: string; readonly nights: number; readonly last: boolean }[]> {
  const { rows } = await sql<{ list: string; nights: number; last: boolean }>`
    select
      lists.name as list,
      count(*) filter (where runs.suspect) as nights,
      (array_agg(runs.suspect order by runs.run_date desc, runs.id desc))[1] as last
    from runs
    join lists on lists.id = runs.list_id
    where runs.state in ('done', 'cancelled')
      and runs.finished_at > clock_timestamp() - interval '7 days'
    group by lists.name
    order by lists.name`.execute(db)
  return rows
}

/** The runs of a list that cannot be believed, the oldest first, each with its reasons in one line. */
export async function listSuspects(
  db: Database,
  list: string,
): Promise<readonly { readonly run_date: string; readonly run: number; readonly why: string }[]> {
  const { rows } = await sql<{ run_date: string; run: number; why: string }>`
    select runs.run_date::text as run_date, runs.id as run, array_to_string(health.reasons, '; ') as why
    from night_health as health
    join runs on runs.id = health.run_id
    join lists on lists.id = runs.list_id
    where lists.name = ${list} and runs.suspect
    order by runs.run_date, runs.id`.execute(db)
  return rows
}
