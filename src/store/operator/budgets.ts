import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** What a run may spend, and how much of that is gone. */
export interface RunBudget {
  readonly run: number
  readonly list: string
  readonly budget: number
  readonly gone: number
}

const runBudgets = sql`
  select runs.id as run, lists.name as list, runs.budget, spent + reserved as gone
  from runs
  join lists on lists.id = runs.list_id
  where runs.budget is not null`

/** The runs of these that have a budget of their own. */
export async function readRunBudgets(
  db: Database,
  runs: readonly number[],
): Promise<readonly RunBudget[]> {
  const { rows } = await sql<RunBudget>`
    ${runBudgets} and runs.id = any(${runs}::bigint[])
    order by runs.id`.execute(db)
  return rows
}

/** The open runs that have a budget of their own. */
export async function readOpenBudgets(db: Database): Promise<readonly RunBudget[]> {
  const { rows } = await sql<RunBudget>`
    ${runBudgets} and runs.state = 'open'
    order by runs.id`.execute(db)
  return rows
}

/** Gives these runs a greater budget; one that has none keeps none. */
export async function raiseBudgets(
  db: Database,
  runs: readonly number[],
  budget: number,
): Promise<void> {
  await sql`
    update runs
    set budget = greatest(budget, ${budget}::bigint)
    where id = any(${runs}::bigint[]) and budget is not null`.execute(db)
}

/** What the runs of a list that are dated in one month may use together, and how much of that is gone. */
export interface ListBudget {
  readonly list: string
  /** Like 2026-11. */
  readonly month: string
  readonly budget: number
  readonly gone: number
}

/** The lists that have a budget, in the months of these runs. */
export async function readListBudgets(
  db: Database,
  runs: readonly number[],
): Promise<readonly ListBudget[]> {
  const { rows } = await sql<ListBudget>`
    select
      lists.name as list, to_char(months.month, 'YYYY-MM') as month, lists.budget,
      sum(runs.spent + runs.reserved)::float8 as gone
    from (
      select distinct list_id, date_trunc('month', run_date) as month
      from runs
      where id = any(${runs}::bigint[])
    ) as months
    join lists on lists.id = months.list_id and lists.budget is not null
    join runs on runs.list_id = lists.id and date_trunc('month', runs.run_date) = months.month
    group by lists.id, months.month
    order by lists.name, months.month`.execute(db)
  return rows
}

/** What lists that have a budget may use, in the months of their open runs and in that of this day. */
export async function readListAllowances(
  db: Database,
  day: string,
): Promise<readonly ListBudget[]> {
  const { rows } = await sql<ListBudget>`
    select
      lists.name as list, to_char(months.month, 'YYYY-MM') as month, lists.budget,
      coalesce(sum(runs.spent + runs.reserved), 0)::float8 as gone
    from lists
    join lateral (
      select date_trunc('month', ${day}::date) as month
      union
      select date_trunc('month', open.run_date)
      from runs as open
      where open.list_id = lists.id and open.state in ('planning', 'open')
    ) as months on true
    left join runs on runs.list_id = lists.id and date_trunc('month', runs.run_date) = months.month
    where lists.budget is not null
    group by lists.id, months.month
    order by lists.name, months.month`.execute(db)
  return rows
}

/** Sets what a list may use in a month; null: as much as there is. */
export async function setListBudget(
  db: Database,
  list: string,
  budget: number | null,
): Promise<void> {
  await db.updateTable('lists').set({ budget }).where('name', '=', list).execute()
}
