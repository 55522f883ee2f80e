import type pg from 'pg'
import type { FoundKey } from './keyring.ts'
import { renewalIsDue } from './plans.ts'
import type { Search } from './schemas.ts'

/** Credits set aside for one request, until it is settled or refunded. */
export interface Charge {
  readonly id: number
  readonly accountId: number
  readonly reserved: number
}

/** Not enough credits. */
export interface Spent {
  readonly remaining: number
  /** When the plan renews; null for credits that were bought once. */
  readonly renewsAt: Date | null
}

/** Sets credits aside. One statement decides, so that no two requests spend the same credit. */
export async function reserveCredits(
  pool: pg.Pool,
  key: FoundKey,
  want: { search: Search; credits: number },
): Promise<Charge | Spent> {
  const { rows } = await pool.query<{ id: number }>({
    name: 'reserve',
    text: `
      with taken as (
        update accounts
        set
          used = $2 + case when ${renewalIsDue} then 0 else used end,
          period = case when ${renewalIsDue} then date_trunc('month', now() at time zone 'utc')::date else period end
        where id = $1
          and $2 + case when ${renewalIsDue} then 0 else used end <= quota
        returning period
      )
      insert into usage (key_id, account_id, period, q, num, reserved)
      select $3, $1, taken.period, $4, $5, $2
      from taken
      -- Not waited for: what is lost with a server that dies now was never answered, and settling waits.
      cross join (select set_config('synchronous_commit', 'off', true)) as lazy
      returning id`,
    values: [key.accountId, want.credits, key.id, storable(want.search.q), want.search.num],
  })
  const id = rows[0]?.id
  if (id !== undefined) return { id, accountId: key.accountId, reserved: want.credits }
  const left = await pool.query<{ remaining: number; renews_at: Date | null }>(
    `select
      quota - case when ${renewalIsDue} then 0 else used end as remaining,
      case when renews then (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' end as renews_at
    from accounts
    where id = $1`,
    [key.accountId],
  )
  return { remaining: left.rows[0]?.remaining ?? 0, renewsAt: left.rows[0]?.renews_at ?? null }
}

/** How a charged request ended. */
export interface ChargeEnding {
  readonly credits: number
  readonly status: number
  readonly ms: number
  readonly provider: string
}

/** Writes down what a request cost in the end and gives the rest back; returns what is left. */
export async function settleCredits(
  pool: pg.Pool,
  charge: Charge,
  ending: ChargeEnding,
): Promise<number> {
  const { rows } = await pool.query<{ remaining: number }>({
    name: 'settle',
    text: `
      with ended as (
        update usage
        set credits = $3, status = $4, ms = $5, provider = $6
        where id = $1
          and credits is null
        returning period, reserved - $3 as back
      )
      update accounts
      set used = used - case when ended.period = accounts.period then ended.back else 0 end
      from ended
      where accounts.id = $2
      returning quota - used as remaining`,
    values: [
      charge.id,
      charge.accountId,
      ending.credits,
      ending.status,
      Math.round(ending.ms),
      ending.provider,
    ],
  })
  return rows[0]?.remaining ?? 0
}

/** Gives back what requests had set aside that died with their process. */
export async function refundOrphans(pool: pg.Pool, olderThanMs: number): Promise<number> {
  const { rows } = await pool.query<{ refunded: number }>(
    `
      with orphans as (
        select id
        from usage
        where credits is null
          and at < now() - make_interval(secs => $1)
        for update skip locked
      ),
      ended as (
        update usage
        set credits = 0, status = 500
        from orphans
        where usage.id = orphans.id
        returning usage.account_id, usage.period, usage.reserved
      ),
      back as (
        update accounts
        set used = used - sums.reserved
        from (select account_id, period, sum(reserved) as reserved from ended group by account_id, period) as sums
        where accounts.id = sums.account_id
          and accounts.period = sums.period
      )
      select count(*) as refunded
      from ended`,
    [olderThanMs / 1000],
  )
  return rows[0]?.refunded ?? 0
}

/** A query as Postgres can hold it: everything but NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', '\u{fffd}')
}
