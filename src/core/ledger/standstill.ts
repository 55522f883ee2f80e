// Reads the floor in force, and the stops that block work.

import { clock, clockBefore } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

/** Returns the stop that ends a drain, or null if no stop applies to this key and floor. */
export async function activeStop(
  db: Database,
  { account, key, floor }: { account: number; key: string; floor: number },
): Promise<'credit_floor' | 'budget' | 'auth' | null> {
  const stop = await db
    .selectFrom('stops as s')
    .innerJoin('accounts as a', 'a.id', 's.account_id')
    .select((eb) => eb.ref('s.reason').$castTo<'credit_floor' | 'budget' | 'auth'>().as('reason'))
    .where('s.account_id', '=', account)
    .where('s.cleared_at', 'is', null)
    .where((eb) => eb.or([eb('s.until', 'is', null), eb('s.until', '>', clock)]))
    .where((eb) =>
      eb.or([
        eb.and([
          eb('s.reason', '=', 'auth'),
          eb.or([
            eb(eb.val(key), '=', eb.fn.any('a.blocked_keys')),
            eb(eb.val(key), '=', eb.fn.any('a.foreign_keys')),
          ]),
        ]),
        eb.and([
          eb('s.reason', '=', 'credit_floor'),
          eb('a.drained_floor', '<=', eb.fn<number>('greatest', [eb.val(floor), floorInForce])),
          eb('a.probe_granted', '=', false),
        ]),
        eb('s.reason', '=', 'budget'),
      ]),
    )
    .orderBy('s.since', 'desc')
    .limit(1)
    .executeTakeFirst()
  return stop?.reason ?? null
}

/** True if the API rejected the key in a call for this task but answered a later call from the same account. */
export async function keyAnsweredSince(db: Database, task: number): Promise<boolean> {
  const later = await db
    .selectFrom('calls as refused')
    .innerJoin('calls as later', 'later.account_id', 'refused.account_id')
    .select('later.id')
    .whereRef('later.id', '>', 'refused.id')
    .where('refused.task_id', '=', task)
    .where('refused.http_status', 'in', [401, 403])
    .whereRef('later.start_seq', '>', 'refused.start_seq')
    .where('later.outcome', '=', 'settled')
    .where('later.http_status', '=', 200)
    .where('later.error_code', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return later !== undefined
}

/** Returns the kind of budget that made tasks unaffordable within the given time, or null if none did. */
export async function leftUnaffordable(
  db: Database,
  withinMs: number,
): Promise<'run' | 'list' | null> {
  const left = await db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .innerJoin('tasks', 'tasks.run_id', 'runs.id')
    .select(({ eb }) =>
      eb
        .case()
        .when('tasks.error_code', '=', 'LIST_BUDGET')
        .then(sql.lit('list' as const))
        .else(sql.lit('run' as const))
        .end()
        .as('by'),
    )
    .where('tasks.state', '=', 'unaffordable')
    .where((eb) => eb.or([eb('runs.budget', 'is not', null), eb('lists.budget', 'is not', null)]))
    .where('tasks.finished_at', '>=', clockBefore(withinMs))
    .orderBy('by', 'desc')
    .limit(1)
    .executeTakeFirst()
  return left?.by ?? null
}

/** Reported balance, for display. The ledger itself uses a provable lower bound. */
export const shownBalance = sql<number | null>`(
  select least(a.obs_remaining, min(c.credits_remaining))::float8
  from calls c
  where c.account_id = a.id
    and c.id > (select max(id) - 5000 from calls)
    and c.outcome = 'settled'
    and c.finished_at >= a.obs_at
)`

/** Floor in force for an account `a`: the highest floor of its live workers, or null if no worker is alive. */
export const floorInForce = sql<number | null>`(
    select max(w.floor)
    from workers w
    where w.account_id = a.id and w.stopped_at is null and w.lease_until > clock_timestamp()
  )`
