import type pg from 'pg'
import type { Log } from '../shared/log.ts'
import { forgetAnswers } from './kept.ts'

export interface SweepWish {
  readonly log: Log
  /** How long queries are kept. */
  readonly keepMs: number
}

const orphanAgeMs = 300_000

/** What a service does once a minute: dead requests are refunded, what is old becomes a sum. */
export async function sweep(pool: pg.Pool, { log, keepMs }: SweepWish): Promise<void> {
  try {
    const refunded = await refundOrphans(pool, orphanAgeMs)
    if (refunded > 0) log.warn({ refunded }, 'requests that died with their process were refunded')
    await forgetAnswers(pool)
    await foldUsage(pool, keepMs)
  } catch (error) {
    // The next sweep comes in a minute; requests report it themselves when the database is away.
    log.error({ err: error }, 'the sweep of unfinished requests failed')
  }
}

const foldedAtOnce = 5000

/** Leaves of old requests what they cost, and nothing of what they asked. */
export async function foldUsage(pool: pg.Pool, keepMs: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ folded: number }>(foldStatement, [keepMs / 1000])
    if ((rows[0]?.folded ?? 0) < foldedAtOnce) break
  }
  await pool.query(
    "delete from asked where last_on < (now() at time zone 'utc' - make_interval(secs => $1))::date",
    [keepMs / 1000],
  )
}

const foldStatement = `
  with old as (
    delete from usage
    where id in (
      select id
      from usage
      where at < now() - make_interval(secs => $1)
        and credits is not null
      limit ${foldedAtOnce}
      for update skip locked
    )
    returning key_id, (at at time zone 'utc')::date as day, status, credits
  ),
  summed as (
    insert into usage_sums as sums (key_id, day, requests, failures, credits)
    select key_id, day, count(*), count(*) filter (where status <> 200), sum(credits)
    from old
    group by key_id, day
    on conflict (key_id, day) do update
    set
      requests = sums.requests + excluded.requests,
      failures = sums.failures + excluded.failures,
      credits = sums.credits + excluded.credits
  )
  select count(*) as folded
  from old`

/** Gives back what requests had set aside that died with their process. */
async function refundOrphans(pool: pg.Pool, olderThanMs: number): Promise<number> {
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
        set held = held - sums.reserved
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
