// Reserves credits for requests, and limits an account's request rate.

import pLimit, { type LimitFunction } from 'p-limit'
import type pg from 'pg'
import { pause } from '../base/waiting.ts'
import { cost, creditsLeft, type FoundKey, renewalIsDue } from './keys.ts'
import { clientLeft, Refusal } from './refusal.ts'
import type { Search } from './schemas.ts'

export interface PaidSearch {
  readonly key: FoundKey
  readonly search: Search
  readonly gone: AbortSignal
  /** Time on the `performance.now()` clock by which the request must be answered or abandoned. */
  readonly deadline: number
  readonly idempotencyKey?: string | undefined
}

/** Returns the request's id, or error 429 if other requests may still release credits. Throws error 402. */
async function reserveCredits(pool: pg.Pool, { key, search }: PaidSearch) {
  const most = cost(search.num)
  const { rows } = await pool.query<{ id: number }>({
    name: 'reserve',
    text: `
      with taken as (
        update accounts
        set
          held = $2 + case when ${renewalIsDue} then 0 else held end,
          used = case when ${renewalIsDue} then 0 else used end,
          period = case when ${renewalIsDue} then date_trunc('month', now() at time zone 'utc')::date else period end
        where id = $1
          and $2 + case when ${renewalIsDue} then 0 else used + held end <= quota
        returning period
      )
      insert into usage (key_id, account_id, period, q, num, reserved)
      select $3, $1, taken.period, $4, $5, $2
      from taken
      -- Not flushed to disk at once: if the server dies now, the request was not answered, and settling flushes.
      cross join (select set_config('synchronous_commit', 'off', true)) as lazy
      returning id`,
    // PostgreSQL cannot store NUL.
    values: [key.accountId, most, key.id, search.q.replaceAll('\0', '\u{fffd}'), search.num],
  })
  if (rows[0] !== undefined) return rows[0].id
  const text = `select ${creditsLeft} as remaining from accounts where id = $1`
  const left = await pool.query<{ remaining: number }>(text, [key.accountId])
  const remaining = left.rows[0]?.remaining ?? 0
  const headers = { 'x-credits-remaining': String(remaining) }
  if (remaining < most) {
    const problem = `Not enough credits for this search, which can cost ${most}: ${remaining} left`
    throw new Refusal(402, problem, headers)
  }
  const problem = 'The credits are reserved for requests in progress; nothing was charged'
  return new Refusal(429, problem, { ...headers, 'retry-after': '1' })
}

/** Returns a function that reserves credits, and waits for credits that other requests may release. */
export function openCredits(pool: pg.Pool, patienceMs = 10_000) {
  const lines = new Map<number, LimitFunction>()
  return async (order: PaidSearch): Promise<number> => {
    const { accountId } = order.key
    const end = Math.min(performance.now() + patienceMs, order.deadline)
    // One at a time, because reservations lock the account, and would keep other accounts from the pool.
    const line = lines.get(accountId) ?? pLimit(1)
    lines.set(accountId, line)
    try {
      // The order of arrival prevents cheap searches from starving an expensive search.
      return await line(async () => {
        for (;;) {
          if (order.gone.aborted) throw clientLeft
          const found = await reserveCredits(pool, order)
          if (typeof found === 'number') return found
          if (performance.now() > end) throw found
          // Tries again after a pause, because another process may release credits.
          await pause(25)
        }
      })
    } finally {
      if (line.activeCount + line.pendingCount === 0) lines.delete(accountId)
    }
  }
}

/** Applies the account's rate limit, if any, to a request, and returns the rate limit headers. */
export async function countRequest(
  pool: pg.Pool,
  { accountId, rate }: FoundKey,
): Promise<Record<string, string>> {
  if (rate === null) return {}
  const { rows } = await pool.query<{ taken: number }>({
    name: 'count-request',
    text: `
      insert into rates as present (account_id, second, taken)
      values ($1, floor(extract(epoch from now()))::bigint, 1)
      on conflict (account_id) do update
      set
        -- A request that waited for this row may belong to an earlier second than the row.
        second = greatest(present.second, excluded.second),
        taken = 1 + case when present.second >= excluded.second then present.taken else 0 end
      returning taken`,
    values: [accountId],
  })
  const taken = rows[0]?.taken ?? 1
  const headers = {
    'x-ratelimit-limit': String(rate),
    'x-ratelimit-remaining': String(Math.max(0, rate - taken)),
    'x-ratelimit-reset': '1',
  }
  if (taken <= rate) return headers
  const problem = `At most ${rate} ${rate === 1 ? 'request' : 'requests'} a second`
  throw new Refusal(429, problem, { ...headers, 'retry-after': '1' })
}
