import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { Buyer } from './prospect.ts'

/** What a query of one class has cost lately, over all calls that it took. */
export interface LatelyPaid {
  readonly class: string
  readonly expected: number
  readonly worst: number
}

const newest = 5000

/** From the calls of the last day on which a class was bought: older ones tell older prices. */
export async function readLatelyPaid(
  db: Database,
  { account, origin }: Buyer,
): Promise<readonly LatelyPaid[]> {
  const { rows } = await sql<LatelyPaid>`
    with lately as (
      select class, task_id, outcome, credits_used, credits_reserved, sent_at, max(sent_at) over (partition by class) as last
      from (
        select calls.*
        from calls
        join accounts on accounts.id = calls.account_id
        where accounts.name = ${account}
          and accounts.kind = ${origin}
          and calls.outcome in ('settled', 'unknown')
        order by calls.id desc
        limit ${newest}
      ) as newest_calls
    ),
    paid as (
      select
        class,
        sum(case when outcome = 'unknown' then credits_reserved else coalesce(credits_used, 0) end)::float8
          / count(distinct task_id) as expected,
        coalesce(max(credits_used), max(credits_reserved)) * count(*)::float8 / count(distinct task_id) as worst
      from lately
      where sent_at > last - interval '20 hours'
      group by class
    )
    select class, expected, greatest(expected, worst) as worst
    from paid`.execute(db)
  return rows
}

/** Calls a minute while the account last was at work; null where too few are known. */
export async function readPace(db: Database, { account, origin }: Buyer): Promise<number | null> {
  const { rows } = await sql<{ per_minute: number | null }>`
    select case when count(*) > 20 then count(*) * 60 / nullif(extract(epoch from sum(least(gap, interval '5 seconds'))), 0) end::float8
      as per_minute
    from (
      select finished_at - lag(finished_at) over (order by finished_at) as gap
      from (
        select calls.finished_at
        from calls
        join accounts on accounts.id = calls.account_id
        where accounts.name = ${account}
          and accounts.kind = ${origin}
          and calls.outcome = 'settled'
        order by calls.id desc
        limit 1000
      ) as newest_calls
    ) as gaps`.execute(db)
  return rows[0]?.per_minute ?? null
}

/** The most that the balance was within a day from that moment on; null: no answer told one. */
export async function balanceAfter(
  db: Database,
  { account, origin }: Buyer,
  at: Date,
): Promise<number | null> {
  const { rows } = await sql<{ balance: number | null }>`
    select max(calls.credits_remaining + coalesce(calls.credits_used, 0))::float8 as balance
    from calls
    join accounts on accounts.id = calls.account_id
    where accounts.name = ${account}
      and accounts.kind = ${origin}
      and calls.sent_at >= ${at}
      and calls.sent_at < ${at}::timestamptz + interval '1 day'`.execute(db)
  return rows[0]?.balance ?? null
}

/** Credits that the account used on a day and in a month, with what is set aside for calls on their way. */
export async function readSpent(
  db: Database,
  { account, origin }: Buyer,
  { day, month }: { readonly day: string; readonly month: string },
): Promise<{ readonly day: number; readonly month: number }> {
  const { rows } = await sql<{ day: number; month: number }>`
    select
      case when day = ${day}::date then day_spent + reserved else 0 end as day,
      case when month >= ${month}::date then month_spent + reserved else 0 end as month
    from accounts
    where name = ${account}
      and kind = ${origin}`.execute(db)
  return rows[0] ?? { day: 0, month: 0 }
}
