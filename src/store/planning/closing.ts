import { Misuse } from '../../shared/errors.ts'
import { sql, type Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import type { Planned, PlanOrder } from './order.ts'

/**
 * Writes what a plan came to into the row of its run; a run that ended meanwhile goes on. A typed budget becomes the budget
 * of the run. A night that joins an older run leaves it no more than the budget of the night, beside what it has used.
 */
export async function closeRun(
  trx: Transaction<DB>,
  { run, rows: lines, accepted, duplicates, rejected }: Omit<Planned, 'done'>,
  order: PlanOrder,
): Promise<boolean> {
  const { into, maxAgeMs } = order
  const budget = sql`${order.budget ?? null}::bigint`
  const { rows } = await sql<{ state: string; gone: number }>`
    with work as (
      select exists (select from slices where run_id = ${run} and done_at is null) as left_over
    )
    update runs
    set rows = ${lines},
      accepted = ${accepted},
      duplicates = ${duplicates},
      rejected = ${rejected},
      max_age_ms = ${maxAgeMs},
      budget = case
        when ${budget} is null then budget
        when ${into}::bigint is null then ${budget}
        else least(budget, spent + reserved + ${budget})
      end,
      state = case when left_over then 'open' else 'done' end,
      finished_at = case when left_over then null else now() end
    from work
    where runs.id = ${run}
      and runs.state <> 'cancelled'
    returning state, spent + reserved as gone`.execute(trx)
  const [closed] = rows
  if (closed === undefined) {
    throw new Misuse(
      `expected run ${run} to stay open while the list was planned, got a cancelled one; nothing was planned: type the same again for a new run`,
    )
  }
  expectRoom(order, { run, gone: closed.gone })
  return closed.state === 'done'
}

/** Refuses a budget that is smaller than what the run that is joined has used: it could not be kept any more. */
export function expectRoom(
  { list, budget, into }: Pick<PlanOrder, 'list' | 'budget' | 'into'>,
  { run, gone }: { run: number; gone: number },
): void {
  if (typeof budget !== 'number' || into !== null || gone <= budget) return
  throw new Misuse(
    `expected a budget of at least ${gone} credits for run ${run} of ${list}, which is open and is added to, got ${budget}: ${gone} are used or held; nothing was planned: type --budget with what the run may use in all, or end it first: npm run cancel -- --run ${run}`,
  )
}
