import type pg from 'pg'
import type { FoundKey } from './keyring.ts'
import { renewalIsDue, renewalTime } from './plans.ts'
import type { Search } from './schemas.ts'

/** Credits set aside for one request, until it is settled or refunded. */
export interface Charge {
  readonly kind: 'charge'
  readonly id: number
  readonly accountId: number
  readonly reserved: number
}

/** Not enough credits, or none free for the moment. */
export interface Unpaid {
  /** `busy`: there are enough, but other requests have set them aside and may give them back. */
  readonly kind: 'spent' | 'busy'
  readonly remaining: number
  /** When the plan renews; null for credits that were bought once. */
  readonly renewsAt: Date | null
}

export interface CreditWish {
  readonly search: Search
  /** The most that the search can cost. */
  readonly credits: number
}

/** Sets credits aside. One statement decides, so that no two requests spend the same credit. */
export async function reserveCredits(
  pool: pg.Pool,
  key: FoundKey,
  want: CreditWish,
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
    values: [key.accountId, want.credits, key.id, storable(want.search.q), want.search.num],
  })
  const id = rows[0]?.id
  if (id === undefined) return await whyNot(pool, key.accountId, want.credits)
  return { kind: 'charge', id, accountId: key.accountId, reserved: want.credits }
}

async function whyNot(pool: pg.Pool, account: number, credits: number): Promise<Unpaid> {
  const { rows } = await pool.query<{ remaining: number; renews_at: Date | null }>(
    `select
      quota - case when ${renewalIsDue} then 0 else used end as remaining,
      ${renewalTime} as renews_at
    from accounts
    where id = $1`,
    [account],
  )
  const { remaining, renews_at } = rows[0] ?? { remaining: 0, renews_at: null }
  return { kind: remaining >= credits ? 'busy' : 'spent', remaining, renewsAt: renews_at }
}

/** How a charged request ended. */
export interface ChargeEnding {
  readonly credits: number
  readonly status: number
  readonly ms: number
  readonly provider: string
  /** The answer, for a request that may be asked for again. */
  readonly keep: Keeping | null
}

export interface Keeping {
  readonly key: string
  readonly claim: string
  readonly answer: string
}

/**
 * Writes down what a request cost in the end and gives the rest back; returns what is left. Null when the request was
 * not ours to end any more: it had been given up for dead, and nothing is charged for it.
 */
export async function settleCredits(
  pool: pg.Pool,
  charge: Charge,
  ending: ChargeEnding,
): Promise<number | null> {
  const { keep } = ending
  const { rows } = await pool.query<{ remaining: number }>({
    name: keep === null ? 'settle' : 'settle-kept',
    text: keep === null ? settling('') : settling(ownClaim, keepAnswer),
    values: [
      charge.id,
      charge.accountId,
      ending.credits,
      ending.status,
      Math.round(ending.ms),
      ending.provider,
      ...(keep === null ? [] : [keep.key, keep.claim, keep.answer]),
    ],
  })
  return rows[0]?.remaining ?? null
}

// Charge and answer are one commit: an answer that was charged can be asked for again, one that was not cannot.
const ownClaim =
  'and exists (select from kept_answers where account_id = $2 and key = $7 and claim = $8 and answer is null for update)'
const keepAnswer = `,
  kept as (
    update kept_answers
    set answer = $9, used = $3, remaining = paid.remaining
    from paid
    where account_id = $2
      and key = $7
  )`

function settling(condition: string, keeping = ''): string {
  return `
    with open as (
      select period, reserved
      from usage
      where id = $1
        and credits is null
        ${condition}
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
    )${keeping}
    select remaining
    from paid`
}

/** A query as Postgres can hold it: everything but NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', '\u{fffd}')
}
