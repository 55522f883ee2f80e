import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** The newest night of a schedule, and how far its run is. */
export interface LastNight {
  readonly schedule: string
  readonly due_at: Date
  readonly run_date: string
  readonly outcome: string | null
  readonly note: string | null
  readonly run: number | null
  readonly run_state: string | null
  readonly tasks: number
  readonly open: number
}

/** The newest night of each schedule. */
export async function readLastNights(db: Database): Promise<readonly LastNight[]> {
  const { rows } = await sql<LastNight>`
    select
      n.schedule, n.due_at, n.run_date, n.outcome, n.note, r.id as run, r.state as run_state,
      counted.tasks, counted.open
    from (
      select distinct on (schedule) *
      from nights
      order by schedule, due_at desc
    ) n
    left join runs r on r.id = n.run_id
    cross join lateral (
      select count(*) as tasks, count(*) filter (where t.state = 'open') as open
      from tasks t
      where t.run_id = r.id
    ) counted
    order by n.schedule`.execute(db)
  return rows
}

/** Counts the nights that were decided since a time, by their outcome. */
export async function countNights(
  db: Database,
  since: Date,
): Promise<readonly { schedule: string; outcome: string; nights: number }[]> {
  const { rows } = await sql<{ schedule: string; outcome: string; nights: number }>`
    select schedule, coalesce(outcome, 'waiting') as outcome, count(*) as nights
    from nights
    where decided_at > ${since}
    group by 1, 2
    order by 1, 2`.execute(db)
  return rows
}

/** Schedules that are on, with the oldest night that each has put off. */
export async function readOutlook(db: Database): Promise<
  readonly {
    readonly name: string
    readonly cron: string
    readonly zone: string
    readonly known_until: Date
    readonly waiting: Date | null
  }[]
> {
  const { rows } = await sql<{
    name: string
    cron: string
    zone: string
    known_until: Date
    waiting: Date | null
  }>`
    select
      name, cron, zone, known_until,
      (select min(due_at) from nights n where n.schedule = s.name and n.outcome is null) as waiting
    from schedules s
    where enabled
    order by name`.execute(db)
  return rows
}
