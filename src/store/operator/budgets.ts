import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** What a run may spend, and how much of that is gone. */
export interface RunBudget {
  readonly run: number
  readonly budget: number
  readonly gone: number
}

/** The runs of these that have a budget of their own. */
export async function readRunBudgets(
  db: Database,
  runs: readonly number[],
): Promise<readonly RunBudget[]> {
  const { rows } = await sql<RunBudget>`
    select id as run, budget, spent + reserved as gone
    from runs
    where id = any(${runs}::bigint[]) and budget is not null
    order by id`.execute(db)
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
