import { sql, type Transaction } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'

// Whoever changes tasks in bulk takes all accounts first, as settlement does: no two can wait for each other.
export async function lockAccounts(trx: Transaction<DB>): Promise<void> {
  await sql`select from accounts order by id for no key update`.execute(trx)
}

/** Ends a run: what is open is cancelled, what is in flight is still settled and kept. */
export async function cancelRun(db: Database, run: number): Promise<{ cancelled: number } | null> {
  return db.transaction().execute(async (trx) => {
    await lockAccounts(trx)
    const { rows } = await sql<{ cancelled: number }>`
      with ended as (
        update runs
        set state = 'cancelled', finished_at = clock_timestamp()
        where id = ${run} and state in ('planning', 'open')
        returning id
      ),
      dropped as (
        update tasks t
        set state = 'cancelled', finished_at = clock_timestamp()
        from ended
        where t.run_id = ended.id and t.state = 'open'
        returning t.id
      ),
      closed as (
        update slices s
        set done_at = clock_timestamp()
        from ended
        where s.run_id = ended.id and s.done_at is null
      )
      select (select count(*) from dropped) as cancelled from ended`.execute(trx)
    return rows[0] ?? null
  })
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
