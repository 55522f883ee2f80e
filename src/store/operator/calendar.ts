import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

/** What became of one list on one date: a run, or a time at which a schedule made none. */
export interface CalendarEntry {
  readonly list: string
  readonly run_date: string
  /** Null: a schedule was due, and no run was made. */
  readonly run: number | null
  readonly kind: string
  readonly state: string
  readonly schedule: string | null
  readonly outcome: string | null
  readonly note: string | null
  readonly suspect: boolean
  /** What is odd about it, whether it is left out or not. */
  readonly reasons: readonly string[]
  /** Queries that were to be bought, and those with a readable answer; null until it was judged. */
  readonly asked: number | null
  readonly answered: number | null
  readonly spent: number
}

/** Every run and every night without one from day to day, by list, the newest first. */
export async function readCalendar(
  db: Database,
  { since, until, limit }: { since: string; until: string; limit: number },
): Promise<readonly CalendarEntry[]> {
  const { rows } = await sql<CalendarEntry>`
    select
      l.name as list, r.run_date, r.id as run, r.kind, r.state, n.schedule, n.outcome, n.note, r.suspect,
      coalesce(h.reasons || h.remarks, '{}') as reasons, h.asked, h.answered, r.spent
    from runs r
    join lists l on l.id = r.list_id
    left join night_health h on h.run_id = r.id
    left join lateral (
      select schedule, outcome, note
      from nights
      where run_id = r.id
      order by due_at desc
      limit 1
    ) n on true
    where r.run_date between ${since}::date and ${until}::date
    union all
    select
      coalesce(s.list, n.schedule), n.run_date, null, 'nightly', '', n.schedule, coalesce(n.outcome, 'waiting'), n.note,
      false, '{}', null, null, 0
    from nights n
    left join schedules s on s.name = n.schedule
    where n.run_id is null
      and n.run_date between ${since}::date and ${until}::date
    order by run_date desc, run desc nulls last, list
    limit ${limit}`.execute(db)
  return rows
}
