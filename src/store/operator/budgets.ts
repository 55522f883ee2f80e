import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** A run and its budget. */
export interface RunBudget {
  readonly run: number
  readonly list: string
  /** Null: no limit of its own. */
  readonly budget: number | null
  /** Credits used, and those set aside for calls in flight. */
  readonly gone: number
  /** True while its tasks are bought. */
  readonly open: boolean
}

/** Reads these runs and their budgets. */
export function readRunBudgets(
  db: Database,
  runs: readonly number[],
): Promise<readonly RunBudget[]> {
  return runBudgets(db)
    .where('runs.id', 'in', [...runs, none])
    .execute()
}

/** No run has this number: a list of numbers must not be empty. */
const none = 0

/** Reads the open runs that have a budget of their own. */
export async function readOpenBudgets(
  db: Database,
): Promise<readonly (RunBudget & { readonly budget: number })[]> {
  const rows = await runBudgets(db).where('runs.state', '=', 'open').execute()
  return rows.flatMap(({ budget, ...run }) => (budget === null ? [] : [{ ...run, budget }]))
}

function runBudgets(db: Database) {
  return db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select(({ eb }) => [
      'runs.id as run',
      'lists.name as list',
      'runs.budget',
      eb('spent', '+', eb.ref('reserved')).as('gone'),
      eb('runs.state', 'in', ['planning', 'open']).$castTo<boolean>().as('open'),
    ])
    .orderBy('runs.id')
}

/**
 * Sets what each of these runs may use in all. Workers may buy meanwhile: false, and nothing is set, when one of the runs
 * has used more by then.
 */
export function setRunBudgets(
  db: Database,
  runs: readonly number[],
  budget: number,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const locked = await trx
      .selectFrom('runs')
      .select(({ eb }) => eb('spent', '+', eb.ref('reserved')).as('gone'))
      .where('id', 'in', runs)
      .orderBy('id')
      .forNoKeyUpdate()
      .execute()
    if (locked.some(({ gone }) => gone > budget)) return false
    await trx.updateTable('runs').set({ budget }).where('id', 'in', runs).execute()
    return true
  })
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
