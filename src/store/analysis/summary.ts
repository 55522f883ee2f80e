import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { only } from '../statement.ts'
import type { Slice } from './slice.ts'

/** What a report says first of the queries and days that it is about. */
export interface ReportSummary {
  readonly origins: readonly string[]
  /** The newest full day. */
  readonly day: string | null
  /** The day that it is compared with; null: there is none. */
  readonly previous: string | null
  /** The newest day that was to be asked. */
  readonly newest: string | null
  readonly queries: number
  readonly answers: number
  readonly credits: number
}

// Of some queries only: their own days decide which are full, by the rule of analysis.days.
const slicedDays = sql`(
  select
    run_date,
    queries as answered,
    queries * 2 < max(planned) over (order by run_date range between interval '30 days' preceding and current row) as thin
  from analysis.label_days
  where tag = '*'
)`

/** Reads it from views that are narrowed to the slice already. */
export async function readReportSummary(
  trx: Database,
  { conditions, ...span }: Slice,
): Promise<ReportSummary> {
  const [since, until] = [span.since ?? null, span.until ?? null]
  const sliced = conditions.length > 0
  const told = sliced ? slicedDays : sql`analysis.days`
  const { rows } = await sql<ReportSummary>`
    with told as materialized (
      select run_date, answered, thin
      from ${told} as days
    ),
    full_days as (
      select run_date
      from told
      where answered > 0
        and not thin
    ),
    chosen as materialized (
      select ${sliced || since !== null || until !== null ? newestWithin(since, until) : sql`analysis.newest_day()`} as day
    )
    select
      analysis.origins() as origins,
      chosen.day,
      ${since === null ? lastBefore : sinceThen(since)} as previous,
      ${sliced ? sql`(select max(run_date) from told)` : sql`(select max(run_date) from runs)`} as newest,
      (select count(*) from analysis.latest) as queries,
      kept.answers,
      kept.credits
    from chosen
    cross join (
      select count(*) as answers, coalesce(sum(credits_used), 0) as credits
      from searches
      where origin = any ((select analysis.origins())::text[])
        and case when (select analysis.slice() is not null)
          then (query_id in (select query_id from analysis.query_labels where analysis.holds(labels)))::integer
          else 1
        end <> 0
    ) as kept
  `.execute(trx)
  return only(rows)
}

/** The newest full day of a span; where none is full, the newest with any answer. */
function newestWithin(since: string | null, until: string | null) {
  const within = sql`run_date between coalesce(${since}::date, '-infinity') and coalesce(${until}::date, 'infinity')`
  return sql`coalesce(
    (select max(run_date) from full_days where ${within}),
    (select max(run_date) from told where answered > 0 and ${within})
  )`
}

const lastBefore = sql`(select max(run_date) from full_days where run_date < chosen.day)`

/** The first day that was asked for, or the first one after it with something to compare. */
function sinceThen(since: string) {
  return sql`coalesce(
    (select ${since}::date where exists (select from full_days where run_date <= ${since}::date)),
    (select min(run_date) from full_days where run_date < chosen.day)
  )`
}
