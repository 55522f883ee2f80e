import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { troubleOf } from '../../base/database/trouble.ts'

// Whoever buys waits for the row of the run and for tasks that change: no longer than so many take.
const portion = 2000

/**
 * Ends a run: nothing of it is bought from the first statement on, and what is open is cancelled a portion at a time. What
 * is in flight is still settled and kept. A run whose cancelling broke off may be cancelled once more.
 */
export async function cancelRun(db: Database, run: number): Promise<{ cancelled: number } | null> {
  const { rows } = await sql<{ id: number }>`
    update runs
    set state = 'cancelled', finished_at = coalesce(finished_at, clock_timestamp())
    where id = ${run}
      and (
        state in ('planning', 'open')
        or state = 'cancelled' and exists (select from tasks t where t.run_id = runs.id and t.state = 'open')
      )
    returning id`.execute(db)
  if (rows.length === 0) return null
  let cancelled = 0
  for (;;) {
    const dropped = await insisting(() => dropTasks(db, run))
    cancelled += dropped
    if (dropped < portion) break
  }
  await sql`
    update slices
    set done_at = clock_timestamp()
    where run_id = ${run} and done_at is null`.execute(db)
  return { cancelled }
}

/** Runs of a list that `cancelRun` would end, the oldest first. */
export async function openRunsOf(db: Database, list: string): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    select r.id
    from runs r
    join lists l on l.id = r.list_id
    where l.name = ${list}
      and (
        r.state in ('planning', 'open')
        or r.state = 'cancelled' and exists (select from tasks t where t.run_id = r.id and t.state = 'open')
      )
    order by r.id`.execute(db)
  return rows.map(({ id }) => id)
}

async function dropTasks(db: Database, run: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update tasks
    set state = 'cancelled', finished_at = clock_timestamp()
    where state = 'open' and id = any(array(
      select id from tasks where run_id = ${run} and state = 'open' order by id limit ${portion} for no key update
    ))`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** Does a portion again that met a settlement of the same tasks. */
export async function insisting<T>(change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change()
    } catch (error) {
      if (tries === 10 || troubleOf(error) !== 'conflict') throw error
    }
  }
}

/** Forgets what calls of an account have cost: the next one goes out alone and shows the price. */
export async function forgetPrices(db: Database, account: number): Promise<void> {
  await db.deleteFrom('account_costs').where('account_id', '=', account).execute()
}

/** Lifts the stops of an account: one call may be made to see the balance, a refused key may be tried again. */
export async function liftStops(
  db: Database,
  account: number,
): Promise<readonly { reason: string }[]> {
  return db.transaction().execute(async (trx) => {
    await sql`select from accounts where id = ${account} for no key update`.execute(trx)
    await sql`
      update accounts
      set probe_granted = true, blocked_keys = '{}', not_before = null, slowdowns = 0, last_probe_at = null
      where id = ${account}`.execute(trx)
    const { rows } = await sql<{ reason: string }>`
      update stops
      set cleared_at = clock_timestamp(), cleared_by = 'resume'
      where account_id = ${account} and cleared_at is null and reason <> 'budget'
      returning reason`.execute(trx)
    return rows
  })
}
