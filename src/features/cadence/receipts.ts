// Reads past nights of adaptive lists, with the calls they saved and the moves they hid.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

/** An adaptive list: its newest decision, and the results of recent nights. */
export interface CadenceReceipt {
  readonly list: string
  /** Last decided night. */
  readonly run_date: string
  /** Number of queries with an interval of 1 day, 2 days and so on. */
  readonly intervals: readonly number[]
  readonly nights: number
  /** Over those nights: queries of the list, those bought, those that could rest and did, and those drawn by chance. */
  readonly queries: number
  readonly asked: number
  readonly rested: number
  readonly by_chance: number
  readonly credits: number
  readonly credits_saved: number
  /** Drawn queries that were compared, and those that hid a move. */
  readonly compared: number
  readonly moved: number
}

const recentNights = 28

/** All adaptive lists, over the nights of the last four weeks. */
export async function readCadenceReceipts(db: Database): Promise<readonly CadenceReceipt[]> {
  const { rows } = await sql<CadenceReceipt>`
    select
      list, max(run_date) as run_date,
      (select newest.intervals from analysis.cadence_nights as newest where newest.list = nights.list order by newest.run_date desc limit 1) as intervals,
      count(*) as nights, sum(queries) as queries, sum(due + by_chance) as asked, sum(rested) as rested,
      sum(by_chance) as by_chance, coalesce(sum(credits), 0) as credits, coalesce(sum(credits_saved), 0) as credits_saved,
      sum(compared) as compared, sum(moved) as moved
    from (
      select *, row_number() over (partition by list order by run_date desc) as nth
      from analysis.cadence_nights
    ) as nights
    where nth <= ${recentNights}
    group by list
    order by list`.execute(db)
  return rows
}

/** A night of a list that is adaptive now or later. */
export interface CadenceNightCost {
  readonly list: string
  readonly run_date: string
  readonly credits: number
  /** Null, like the following fields except moves, if all queries were bought that night. */
  readonly credits_saved: number | null
  /** Observed number of pages that entered or left the top ten. */
  readonly moves: number | null
  /**
   * Estimated number of skipped queries that hid a move, based on the drawn ones; also null while none was compared.
   */
  readonly hidden: number | null
  readonly hidden_low: number | null
  readonly hidden_high: number | null
}

/** All nights of adaptive lists, day by day, newest first, including those before they were adaptive. */
export async function readCadenceNightCosts(
  db: Database,
  { since, until }: { readonly since: string; readonly until: string },
): Promise<readonly CadenceNightCost[]> {
  const { rows } = await sql<CadenceNightCost>`
    with nights as (
      select runs.list_id, lists.name as list, runs.run_date, sum(runs.spent) as credits
      from runs
      join lists on lists.id = runs.list_id
      where runs.kind = 'nightly'
        and runs.run_date between ${since}::date and ${until}::date
        and exists (select from cadence_nights where cadence_nights.list_id = runs.list_id)
      group by runs.list_id, lists.name, runs.run_date
    )
    select
      nights.list, nights.run_date, nights.credits, receipt.credits_saved, seen.moves,
      receipt.hidden, case when receipt.hidden is not null then receipt.hidden_low end as hidden_low,
      case when receipt.hidden is not null then receipt.hidden_high end as hidden_high
    from nights
    left join analysis.cadence_nights as receipt
      on receipt.list = nights.list
      and receipt.run_date = nights.run_date
    left join (
      select list_queries.list_id, step_days.run_date, sum(step_days.entered + step_days.left_top_10) as moves
      from analysis.step_days
      join list_queries on list_queries.query_id = step_days.query_id
      where step_days.run_date between ${since}::date and ${until}::date
      group by list_queries.list_id, step_days.run_date
    ) as seen on seen.list_id = nights.list_id and seen.run_date = nights.run_date
    order by nights.list, nights.run_date desc`.execute(db)
  return rows
}
