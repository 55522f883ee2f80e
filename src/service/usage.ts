// Reads the requests and credits of keys by day.

import type pg from 'pg'
import { type FoundKey, renewalIsDue } from './keys.ts'
import { type UsageResponse, usageResponse } from './schemas.ts'

/** Reads the usage of the account of a key, as `GET /v1/usage` returns it. */
export async function readAccount(
  pool: pg.Pool,
  key: FoundKey,
  { days, limit }: { days: number; limit: number },
): Promise<UsageResponse> {
  const [account, used] = await Promise.all([
    pool.query<{ plan: string; quota: number; used: number }>(
      `select plan, quota, case when ${renewalIsDue} then 0 else used end as used from accounts where id = $1`,
      [key.accountId],
    ),
    readDays(pool, { days, account: key.accountId }),
  ])
  const { plan, quota, used: credits } = account.rows[0] ?? { plan: '', quota: 0, used: 0 }
  // Drops the fields of a day that are not in the schema.
  return usageResponse.parse({
    success: true,
    plan,
    credits_quota: quota,
    credits_used: credits,
    credits_remaining: quota - credits,
    renews_at: key.renewsAt?.toISOString() ?? null,
    rate_limit: limit,
    days: used,
  })
}

/** The usage of one key on one day. */
export interface KeyDay {
  readonly day: string
  readonly id: number
  readonly key: string
  readonly kind: string
  readonly name: string
  readonly requests: number
  readonly failures: number
  readonly credits: number
}

/** Reads the last days, today included, of one account or of all. Reads only the requests of those days. */
export async function readDays(
  pool: pg.Pool,
  { days, account }: { days: number; account: number | null },
): Promise<KeyDay[]> {
  const { rows } = await pool.query<KeyDay>(readDaysText, [account, days])
  return rows
}

const readDaysText = `
  with first as (select (now() at time zone 'utc')::date - $2::integer + 1 as day),
  own as (
    select id, kind, name, 'sk_' || kind || '_…' || tail as key
    from keys
    where $1::bigint is null or account_id = $1
  ),
  counted as (
    select
      key_id,
      (at at time zone 'utc')::date as day,
      count(*) as requests,
      count(*) filter (where status <> 200) as failures,
      coalesce(sum(credits), 0) as credits
    from usage
    where key_id in (select id from own)
      and at >= (select day from first) at time zone 'utc'
    group by 1, 2
    union all
    select key_id, day, requests, failures, credits
    from usage_sums
    where key_id in (select id from own)
      and day >= (select day from first)
  )
  select
    day::text as day,
    own.id,
    own.key,
    own.kind,
    own.name,
    sum(requests)::bigint as requests,
    sum(failures)::bigint as failures,
    sum(credits)::bigint as credits
  from counted
  join own on own.id = counted.key_id
  group by day, own.id, own.key, own.kind, own.name
  order by day, own.id`
