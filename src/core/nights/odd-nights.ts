import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

// Runs that turned out suspect or odd, for metrics and for people.

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

/** A run about which something is odd, with all that is odd in one line. */
export interface OddNight {
  readonly run_date: string
  readonly run: number
  readonly suspect: boolean
  readonly why: string
}

/** The odd runs of a list, the oldest first: those that are left out, and those that are shown all the same. */
export async function listOddNights(db: Database, list: string): Promise<readonly OddNight[]> {
  const { rows } = await sql<OddNight>`
    select
      runs.run_date::text as run_date, runs.id as run, runs.suspect,
      array_to_string(health.reasons || health.remarks, '; ') as why
    from night_health as health
    join runs on runs.id = health.run_id
    join lists on lists.id = runs.list_id
    where lists.name = ${list}
      and cardinality(health.reasons || health.remarks) > 0
    order by runs.run_date, runs.id`.execute(db)
  return rows
}

/**
 * A run `r` has an answer that can be read, or let every query rest. A subquery with a limit, not `exists`: that would be
 * joined, and read every answer there is.
 */
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

/** How a schedule has done lately. */
interface GoodNight {
  readonly schedule: string
  /** When its last good night was due; null while there was none. */
  readonly seconds: number | null
  /** Nights that were decided since, those at work among them. */
  readonly nights_since: number
}

/** The last good night of each schedule that is on: its run is done, not suspect, and has an answer that can be read. */
export async function readGoodNights(db: Database): Promise<readonly GoodNight[]> {
  const { rows } = await sql<GoodNight>`
    select
      schedules.name as schedule,
      extract(epoch from good.due_at)::float8 as seconds,
      (
        select count(*)
        from nights n
        where n.schedule = schedules.name
          and n.outcome is not null
          and n.due_at > coalesce(good.due_at, '-infinity')
      ) as nights_since
    from schedules
    left join lateral (
      select n.due_at
      from nights n
      join runs r on r.id = n.run_id
      where n.schedule = schedules.name and r.state = 'done' and not r.suspect and ${hasAnswer}
      order by n.due_at desc
      limit 1
    ) good on true
    where schedules.enabled
    order by schedules.name`.execute(db)
  return rows
}
