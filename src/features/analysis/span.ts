// The span of days that a page or report is about.
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'

/** Days from one to another, as they are read. */
export interface ReadSpan {
  readonly since: string
  readonly until: string
  /** True: more days were asked for than are read at once. */
  readonly cut: boolean
}

/** Days as they were asked for; null: not said. */
export interface AskedSpan {
  readonly since: string | null
  readonly until: string | null
  /** How many days are read where nobody says since when. */
  readonly days: number
  /** How many days are read at most. */
  readonly most: number
}

/** The days that are read: up to the newest full one unless somebody says otherwise, and never more than there may be. */
export async function readSpan(
  db: Database,
  { since, until, days, most }: AskedSpan,
): Promise<ReadSpan> {
  const { rows } = await sql<{ since: string; until: string; earliest: string }>`
    select
      coalesce(${since}::date, last.day - (${days}::integer - 1)) as since,
      last.day as until,
      last.day - (${most}::integer - 1) as earliest
    from (
      select greatest(
        coalesce(${until}::date, analysis.newest_day(), (select max(run_date) from runs), current_date),
        ${since}::date
      ) as day
    ) as last
  `.execute(db)
  const found = only(rows)
  const cut = found.since < found.earliest
  return { since: cut ? found.earliest : found.since, until: found.until, cut }
}

/** The days with the earlier one moved to the first answers, where none is known on it: something to compare. */
export async function fromFirstAnswers(
  db: Database,
  { since, until, cut }: ReadSpan,
): Promise<ReadSpan> {
  const { rows } = await sql<{ since: string }>`
    select case
      when exists (select from analysis.known_on(${since}::date)) then ${since}::date
      else coalesce(
        (
          select min(run_date)
          from analysis.days
          where answered > 0
            and run_date between ${since}::date and ${until}::date
        ),
        ${since}::date
      )
    end as since`.execute(db)
  return { since: only(rows).since, until, cut }
}
