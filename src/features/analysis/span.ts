// Period covered by a page or report.
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'

/** Period that is read. */
export interface ReadSpan {
  readonly since: string
  readonly until: string
  /** True if more days were requested than are read at once. */
  readonly cut: boolean
}

/** Requested period; null: not specified. */
export interface AskedSpan {
  readonly since: string | null
  readonly until: string | null
  /** Number of days if no start is specified. */
  readonly days: number
  /** Maximum number of days. */
  readonly most: number
}

/** Determines the period: it ends at the newest full day by default, and never exceeds the maximum. */
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

/** Moves the earlier day to the first answers if there are none on it, so that there is something to compare. */
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
