import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'
import { only } from '../statement.ts'

/** Days before every run that is not over, of which nothing is kept. */
export async function readDaysToFinish(
  db: Database,
  since = '-infinity',
): Promise<readonly string[]> {
  const { rows } = await sql<{ day: string }>`
    select distinct runs.run_date as day
    from runs
    where analysis.basis() is not null
      and runs.run_date >= ${since}::date
      and runs.run_date < coalesce(
        (select min(run_date) from runs where state in ('planning', 'open')), 'infinity'
      )
      -- What is in the archive cannot be added up.
      and runs.run_date not in (select archived_days.run_date from archived_days)
      and not exists (
        select
        from finished_days
        where finished_days.run_date = runs.run_date
          and finished_days.basis = analysis.basis()
      )
    order by day`.execute(db)
  return rows.map(({ day }) => day)
}

/** True while the sums of a day could be kept and are not. */
export async function anyUnfinished(db: Database): Promise<boolean> {
  return (await readDaysToFinish(db)).length > 0
}

/** Days of which no sums are kept, by why that is so. */
export interface DaysLeft {
  /** Nobody is at them. */
  readonly open: number
  /** Another process began to add them up, or one that died meanwhile. */
  readonly begun: number
  /** A run of them, or of a day before them, is not over. */
  readonly waiting: number
}

/** What is left to be kept since a day. */
export async function readDaysLeft(db: Database, since: string | undefined): Promise<DaysLeft> {
  const { rows } = await sql<{ begun: number; missing: number }>`
    select
      count(*) filter (where finished_days.id is not null) as begun,
      count(*) filter (where finished_days.id is null) as missing
    from analysis.unfinished_days
    left join finished_days using (run_date)
    where run_date >= ${since ?? '-infinity'}::date`.execute(db)
  const { begun, missing } = only(rows)
  const open = (await readDaysToFinish(db, since)).length
  return { open, begun, waiting: missing - open }
}

/** Tells the planner at once what was kept: it would find out in its own time. */
export async function analyzeFinished(db: Database): Promise<void> {
  await sql`analyze finished_days, finished_labels, finished_shares, finished_steps, seen_pages`.execute(
    db,
  )
}
