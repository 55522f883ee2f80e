import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { floorInForce } from '../ledger/floor.ts'
import { shownBalance } from '../ledger/standstill.ts'
import type { Origin } from '../answers/answer.ts'

/** What calls of one class have cost. */
export interface ClassCost {
  readonly class: string
  readonly dearest: number
  /** Of the newest calls; null when none of them was of this class. */
  readonly average: number | null
}

/** What is known about a balance and its prices. */
export interface Funds {
  /** What is left when the calls on their way are paid; null while no balance was ever seen. */
  readonly remaining: number | null
  readonly observedAt: Date | null
  /** The floor in force; null where no worker lives. */
  readonly floor: number | null
  readonly costs: readonly ClassCost[]
}

const newest = 2000

/** Reads balance and prices; an account that was never used has neither. */
export async function readFunds(
  db: Database,
  account: { readonly name: string; readonly kind: Origin },
): Promise<Funds> {
  const found = await sql<{
    id: number
    remaining: number | null
    observedAt: Date | null
    floor: number | null
  }>`
    select
      a.id,
      ${shownBalance} - a.reserved - a.uncertain as remaining,
      a.obs_at as "observedAt",
      ${floorInForce} as floor
    from accounts as a
    where a.name = ${account.name}
      and a.kind = ${account.kind}`.execute(db)
  const [row] = found.rows
  if (row === undefined) return { remaining: null, observedAt: null, floor: null, costs: [] }
  const { remaining, observedAt, floor } = row
  return { remaining, observedAt, floor, costs: await readCosts(db, row.id) }
}

async function readCosts(db: Database, account: number): Promise<readonly ClassCost[]> {
  const { rows } = await sql<ClassCost>`
    select
      account_costs.class,
      account_costs.dearest,
      recent.average::double precision as average
    from account_costs
    left join (
      select class, avg(credits_used) as average
      from (
        select class, credits_used
        from calls
        where account_id = ${account}
          and outcome = 'settled'
          and http_status = 200
          and credits_used is not null
        order by id desc
        limit ${newest}
      ) as newest_calls
      group by class
    ) as recent using (class)
    where account_id = ${account}
      and account_costs.seen > 0
      and account_costs.dearest is not null`.execute(db)
  return rows
}
