// Reserves, settles and refunds the credits of a request, and limits the request rate of an account.

import pLimit, { type LimitFunction } from 'p-limit'
import type pg from 'pg'
import { type FoundKey, renewalIsDue } from './keys.ts'
import { clientLeft, Refusal } from './refusal.ts'
import type { Search } from './schemas.ts'

/** Credits reserved for one request, until they are settled or refunded. */
interface Charge {
  readonly kind: 'charge'
  readonly id: number
  readonly accountId: number
}

/** The reason why no credits could be reserved. */
export interface Unpaid {
  /** `busy`: other requests have reserved the credits and may release them. */
  readonly kind: 'spent' | 'busy'
  readonly remaining: number
}

interface CreditRequest {
  readonly search: Search
  /** The highest possible cost of the search. */
  readonly credits: number
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal
  /** Time of `performance.now()` at which the request gives up; if unset, only the patience limits the wait. */
  readonly deadline?: number
}

/** Reserves credits in one statement, so that two requests cannot spend the same credit. */
async function reserveCredits(
  pool: pg.Pool,
  key: FoundKey,
  want: CreditRequest,
): Promise<Charge | Unpaid> {
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
    values: [
      key.accountId,
      want.credits,
      key.id,
      want.search.q.replaceAll('\0', '\u{fffd}'),
      want.search.num,
    ],
  })
  const id = rows[0]?.id
  if (id !== undefined) return { kind: 'charge', id, accountId: key.accountId }
  const left = await pool.query<{ remaining: number }>(
    `select quota - case when ${renewalIsDue} then 0 else used end as remaining from accounts where id = $1`,
    [key.accountId],
  )
  const remaining = left.rows[0]?.remaining ?? 0
  return { kind: remaining >= want.credits ? 'busy' : 'spent', remaining }
}

/** The outcome of a charged request. */
interface ChargeEnding {
  readonly credits: number
  readonly status: number
  readonly ms: number
  readonly provider: string
  /** The answer to store, for a request with an idempotency key. */
  readonly keep: Keeping | null
}

export interface Keeping {
  readonly key: string
  readonly claim: string
  readonly answer: string
}

/**
 * Records the cost of a request, releases the unused part of its reservation and returns the balance. Returns null if
 * the request had already been refunded as dead; in that case, nothing is charged.
 */
export async function settleCredits(
  pool: pg.Pool,
  charge: Charge,
  ending: ChargeEnding,
): Promise<number | null> {
  const { keep } = ending
  const { rows } = await pool.query<{ remaining: number }>({
    name: 'settle',
    text: settleText,
    values: [
      charge.id,
      charge.accountId,
      ending.credits,
      ending.status,
      Math.round(ending.ms),
      ending.provider,
      keep?.key ?? null,
      keep?.claim ?? null,
      keep?.answer ?? null,
    ],
  })
  return rows[0]?.remaining ?? null
}

// Charge and answer are committed together: only a charged answer can be replayed.
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

// A settlement in another process releases credits without waking up this process, so poll.
const lookAgainMs = 100
const usualPatienceMs = 10_000

interface Line {
  /** Admits one request after another. */
  readonly enter: LimitFunction
  wake: () => void
}

/** Reserves credits. If other requests may still release some, waits before it reports a lack of credits. */
export class KeyCredits {
  readonly #pool: pg.Pool
  readonly #patienceMs: number
  readonly #lines = new Map<number, Line>()

  constructor(pool: pg.Pool, patienceMs = usualPatienceMs) {
    this.#pool = pool
    this.#patienceMs = patienceMs
  }

  /** Returns `busy` only after the patience or the deadline has passed. */
  async reserve(key: FoundKey, want: CreditRequest): Promise<Charge | Unpaid> {
    // Counted from the arrival, so that waiting behind other requests in the queue does not extend it.
    const end = Math.min(performance.now() + this.#patienceMs, want.deadline ?? Infinity)
    if (!this.#lines.has(key.accountId)) {
      const first = await reserveCredits(this.#pool, key, want)
      if (first.kind !== 'busy') return first
    }
    const line = this.#lines.get(key.accountId) ?? { enter: pLimit(1), wake: () => undefined }
    this.#lines.set(key.accountId, line)
    try {
      // In order of arrival, so that cheap searches cannot starve an expensive one.
      return await line.enter(async () => {
        for (;;) {
          if (want.gone.aborted) throw clientLeft()
          const woken = new Promise<void>((resolve) => {
            line.wake = resolve
            setTimeout(resolve, lookAgainMs)
          })
          const found = await reserveCredits(this.#pool, key, want)
          if (found.kind !== 'busy' || performance.now() > end) return found
          await woken
        }
      })
    } finally {
      if (line.enter.activeCount + line.enter.pendingCount === 0) this.#lines.delete(key.accountId)
    }
  }

  /** Wakes the requests that wait for credits of the account, after some were released. */
  wake(account: number): void {
    this.#lines.get(account)?.wake()
  }
}

// Higher than the rate of any legitimate client.
const usualRates = { test: 1000, live: 10_000 }

/** Counts the requests of each account in windows of one second. */
export class RateLimiter {
  readonly #pool: pg.Pool
  /** Requests per second of the test keys of one account. */
  readonly #testRate: number
  /** Requests by kind and account in the current second. */
  readonly #counts = new Map<string, number>()
  #second = 0

  constructor(pool: pg.Pool, testRate = usualRates.test) {
    this.#pool = pool
    this.#testRate = testRate
  }

  /** Returns the headers that name the limit of a key; throws when the request exceeds it. */
  async pass(key: FoundKey): Promise<Record<string, string>> {
    const { accountId, kind } = key
    const limit = kind === 'test' ? this.#testRate : (key.rate ?? usualRates.live)
    let count = this.#count(`${kind} ${accountId}`)
    // A configured limit applies across all processes. A request over this process's limit is not counted in the table.
    if (kind === 'live' && key.rate !== null && count <= limit)
      count = await this.#countAll(accountId)
    // The window is one second, so a retry after one second always succeeds.
    const headers = {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - count)),
      'x-ratelimit-reset': '1',
    }
    if (count <= limit) return headers
    const many = limit === 1 ? '1 request' : `${limit} requests`
    throw new Refusal(429, `At most ${many} a second`, { ...headers, 'retry-after': '1' })
  }

  #count(name: string): number {
    const second = Math.floor(Date.now() / 1000)
    if (second !== this.#second) this.#counts.clear()
    this.#second = second
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    return count
  }

  async #countAll(account: number): Promise<number> {
    const { rows } = await this.#pool.query<{ taken: number }>({
      name: 'count-request',
      text: `
        insert into rates as present (account_id, second, taken)
        values ($1, floor(extract(epoch from now()))::bigint, 1)
        on conflict (account_id) do update
        set
          second = excluded.second,
          taken = 1 + case when present.second = excluded.second then present.taken else 0 end
        returning taken`,
      values: [account],
    })
    return rows[0]?.taken ?? 1
  }
}
