// Reserves, settles and refunds a request's credits, and limits an account's request rate.

import pLimit, { type LimitFunction } from 'p-limit'
import type pg from 'pg'
import { pause } from '../base/waiting.ts'
import { cost, creditsLeft, type FoundKey, renewalIsDue } from './keys.ts'
import { clientLeft, Refusal } from './refusal.ts'
import type { Search } from './schemas.ts'

/** Credits that are reserved for one request until they are settled or refunded. */
type Charge = Readonly<Record<'id' | 'accountId', number>>

export interface PaidSearch {
  readonly key: FoundKey
  readonly search: Search
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal
  /** Time on the `performance.now()` clock by which the request must be answered or given up. */
  readonly deadline: number
}

/** Reserves credits in one statement. Returns a 429 if other requests may still release credits, or throws a 402. */
async function reserveCredits(
  pool: pg.Pool,
  { key, search }: PaidSearch,
): Promise<Charge | Refusal> {
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
      -- Not waited for: what is lost with a server that dies now was never answered, and settling waits.
      cross join (select set_config('synchronous_commit', 'off', true)) as lazy
      returning id`,
    // PostgreSQL cannot store NUL.
    values: [key.accountId, most, key.id, search.q.replaceAll('\0', '\u{fffd}'), search.num],
  })
  if (rows[0] !== undefined) return { id: rows[0].id, accountId: key.accountId }
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

interface ChargeEnding {
  readonly credits: number
  readonly status: number
  readonly ms: number
  readonly provider: string
  /** The answer to store, for a request with an idempotency key. */
  readonly keep: Readonly<Record<'key' | 'token' | 'answer', string>> | null
}

/** Charges a request, and returns the balance; charges nothing and returns null if the request was refunded as dead. */
export async function settleCredits(
  pool: pg.Pool,
  charge: Charge,
  { credits, status, ms, provider, keep }: ChargeEnding,
): Promise<number | null> {
  const claim = keep === null ? [null, null, null] : [keep.key, keep.token, keep.answer]
  const { rows } = await pool.query<{ remaining: number }>({
    name: 'settle',
    text: settleText,
    values: [charge.id, charge.accountId, credits, status, Math.round(ms), provider, ...claim],
  })
  return rows[0]?.remaining ?? null
}

// The charge and the answer are committed together, so that only a charged answer can be replayed.
const settleText = `
  with open as (
    select period, reserved
    from usage
    where id = $1
      and credits is null
      and ($7::text is null
        or exists (select from kept_answers where account_id = $2 and key = $7 and claim = $8 and answer is null for update))
    for update
  ),
  paid as (
    update accounts
    set
      held = held - case when open.period = accounts.period then open.reserved else 0 end,
      used = used + case when open.period = accounts.period then $3 else 0 end
    from open
    where accounts.id = $2
    returning quota - used as remaining
  ),
  ended as (
    update usage
    set credits = $3, status = $4, ms = $5, provider = $6
    from paid
    where id = $1
  ),
  kept as (
    update kept_answers
    set answer = $9, used = $3, remaining = paid.remaining
    from paid
    where account_id = $2
      and key = $7
  )
  select remaining
  from paid`

// Attempts to reserve are repeated, because another process may release credits.
const lookAgainMs = 25

export class KeyCredits {
  readonly #pool: pg.Pool
  readonly #patienceMs: number
  /** For each account, the queue that admits the waiting requests one after another. */
  readonly #lines = new Map<number, LimitFunction>()

  constructor(pool: pg.Pool, patienceMs = 10_000) {
    this.#pool = pool
    this.#patienceMs = patienceMs
  }

  /**
   * Reserves credits for a search. Waits for credits that other requests may release. Throws a 402, or a 429 once the
   * patience runs out or the deadline passes.
   */
  async reserve(order: PaidSearch): Promise<Charge> {
    const { accountId } = order.key
    // The patience starts now, so that waiting behind other requests in the queue does not extend it.
    const end = Math.min(performance.now() + this.#patienceMs, order.deadline)
    const first = this.#lines.has(accountId) ? null : await reserveCredits(this.#pool, order)
    if (first !== null && !(first instanceof Refusal)) return first
    const line = this.#lines.get(accountId) ?? pLimit(1)
    this.#lines.set(accountId, line)
    try {
      // Requests are admitted in order of arrival, so that cheap searches cannot starve an expensive one.
      return await line(async () => {
        for (;;) {
          if (order.gone.aborted) throw clientLeft
          const found = await reserveCredits(this.#pool, order)
          if (!(found instanceof Refusal)) return found
          if (performance.now() > end) throw found
          await pause(lookAgainMs)
        }
      })
    } finally {
      if (line.activeCount + line.pendingCount === 0) this.#lines.delete(accountId)
    }
  }
}

/** Counts a request against its account's limit per second, if any, and returns headers that state the limit. */
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
        -- A request that waited for the row counts in the second that has begun meanwhile.
        second = greatest(present.second, excluded.second),
        taken = 1 + case when present.second >= excluded.second then present.taken else 0 end
      returning taken`,
    values: [accountId],
  })
  const taken = rows[0]?.taken ?? 1
  // The window is one second, so a retry after one second always succeeds.
  const headers = {
    'x-ratelimit-limit': String(rate),
    'x-ratelimit-remaining': String(Math.max(0, rate - taken)),
    'x-ratelimit-reset': '1',
  }
  if (taken <= rate) return headers
  const problem = `At most ${rate} ${rate === 1 ? 'request' : 'requests'} a second`
  throw new Refusal(429, problem, { ...headers, 'retry-after': '1' })
}
