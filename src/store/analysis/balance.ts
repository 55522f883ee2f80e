import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { floorInForce } from '../ledger/floor.ts'

export interface BalancePoint {
  readonly account: string
  readonly at: Date
  readonly remaining: number
}

/**
 * The highest floor in force for the accounts that are shown; where no worker lives, that of the last one. Null where
 * there never was one, or for a login that may not know.
 */
export async function readFloor(trx: Database): Promise<number | null> {
  if (!(await mayRead(trx, 'public.workers')) || !(await mayRead(trx, 'public.accounts')))
    return null
  const { rows } = await sql<{ floor: number | null }>`
    with shown as (
      select id
      from accounts
      where kind = any ((select analysis.origins())::text[])
    )
    select coalesce(
      (select max(${floorInForce}) from shown as a),
      (
        select workers.floor
        from workers
        join shown on shown.id = workers.account_id
        order by workers.id desc
        limit 1
      )
    ) as floor
  `.execute(trx)
  return rows[0]?.floor ?? null
}

/**
 * At most 300 points for each account: the lowest balance of each stretch of calls. None for a login that may not
 * know: balances are the mill's own bookkeeping, which an analyst's login is kept from.
 */
export async function readBalance(trx: Database): Promise<readonly BalancePoint[]> {
  if (!(await mayRead(trx, 'public.accounts'))) return []
  const { rows } = await sql<BalancePoint>`
    select account, max(finished_at) as at, min(credits_remaining) as remaining
    from (
      select
        accounts.name as account, calls.finished_at, calls.credits_remaining,
        ntile(300) over (partition by accounts.id order by calls.finished_at) as stretch
      from calls
      join accounts on accounts.id = calls.account_id
      where calls.credits_remaining is not null
        and calls.finished_at is not null
        and accounts.kind = any ((select analysis.origins())::text[])
    ) as settled
    group by account, stretch
    order by account, at
  `.execute(trx)
  return rows
}

/** To be asked before reading: a refused read would end the transaction, and the page with it. */
async function mayRead(trx: Database, table: string): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select has_table_privilege(${table}, 'select') as may
  `.execute(trx)
  return rows[0]?.may === true
}
