// The floor in force, and the stops that hold work.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

/** A stop that ends a drain, as far as the tables know; null while none stands for this key and floor. */
export async function standingStop(
  db: Database,
  { account, key, floor }: { account: number; key: string; floor: number },
): Promise<'credit_floor' | 'budget' | 'auth' | null> {
  const { rows } = await sql<{ reason: 'credit_floor' | 'budget' | 'auth' }>`
    select s.reason
    from stops s
    join accounts a on a.id = s.account_id
    where s.account_id = ${account}
      and s.cleared_at is null
      and (s.until is null or s.until > clock_timestamp())
      and case s.reason
        when 'auth' then ${key} = any(a.blocked_keys)
        when 'credit_floor' then a.drained_floor <= greatest(${floor}, ${floorInForce}) and not a.probe_granted
        when 'budget' then true
        else false
      end
    order by s.since desc
    limit 1`.execute(db)
  return rows[0]?.reason ?? null
}

/** True when a call of this task was answered with a refused key, and one of its account that began later with results. */
export async function keyAnsweredSince(db: Database, task: number): Promise<boolean> {
  const { rows } = await sql<{ answered: boolean }>`
    select exists (
      select from calls refused
      join calls later on later.account_id = refused.account_id and later.id > refused.id
      where refused.task_id = ${task}
        and refused.http_status in (401, 403)
        and later.start_seq > refused.start_seq
        and later.outcome = 'settled'
        and later.http_status = 200
        and later.error_code is null
    ) as answered`.execute(db)
  return rows[0]?.answered ?? false
}

/** Whose budget left tasks unaffordable within that time: a run's own, or that of its list; null: nobody's. */
export async function leftUnaffordable(
  db: Database,
  withinMs: number,
): Promise<'run' | 'list' | null> {
  const { rows } = await sql<{ by: 'run' | 'list' }>`
    select case when t.error_code = 'LIST_BUDGET' then 'list' else 'run' end as by
    from runs r
    join lists l on l.id = r.list_id
    join tasks t on t.run_id = r.id and t.state = 'unaffordable'
    where (r.budget is not null or l.budget is not null)
      and t.finished_at >= clock_timestamp() - ${withinMs} * interval '1 millisecond'
    order by 1 desc
    limit 1`.execute(db)
  return rows[0]?.by ?? null
}

/**
 * The balance as far as answers tell, for people: of the answers that came while the newest started call was on its
 * way, the smallest is the last one charged. The ledger itself reckons with less, with what it can prove.
 */
export const shownBalance = sql<number | null>`(
  select least(a.obs_remaining, min(c.credits_remaining))::float8
  from calls c
  where c.account_id = a.id
    and c.id > (select max(id) - 5000 from calls)
    and c.outcome = 'settled'
    and c.finished_at >= a.obs_at
)`

/** The newest known balance of an account; null before the first. */
export async function knownBalance(db: Database, account: number): Promise<number | null> {
  const { rows } = await sql<{ balance: number | null }>`
    select ${shownBalance} as balance
    from accounts a
    where a.id = ${account}`.execute(db)
  return rows[0]?.balance ?? null
}

/** The floor in force for an account `a`: the highest among its live workers, which holds for all of them; else null. */
export const floorInForce = sql<number | null>`(
    select max(w.floor)
    from workers w
    where w.account_id = a.id and w.stopped_at is null and w.lease_until > clock_timestamp()
  )`
