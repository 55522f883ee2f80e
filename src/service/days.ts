import type pg from 'pg'

/** What one key used on one day. */
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

/** The last days, today included, of one account or of all; of half a year of requests only those are read. */
export async function readDays(
  pool: pg.Pool,
  { days, account }: { days: number; account: number | null },
): Promise<KeyDay[]> {
  const { rows } = await pool.query<KeyDay>(statement, [account, days])
  return rows
}

const statement = `
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
