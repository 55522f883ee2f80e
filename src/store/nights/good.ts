import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

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
export interface GoodNight {
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
