import type pg from 'pg'
import { type FoundKey, renewalIsDue, renewalTime } from './keys.ts'
import { clientLeft, Refusal } from './refusal.ts'
import type { Search } from './schemas.ts'

/** Credits set aside for one request, until it is settled or refunded. */
interface Charge {
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

interface CreditWish {
  readonly search: Search
  /** The most that the search can cost. */
  readonly credits: number
}

/** Sets credits aside. One statement decides, so that no two requests spend the same credit. */
async function reserveCredits(
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
interface ChargeEnding {
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

// Settled by another process, a credit is free without a word to this one.
const lookAgainMs = 100
const usualPatienceMs = 10_000

/** Credits that somebody waits for. */
interface PurseWish extends CreditWish {
  /** Aborted when the client has gone away. */
  readonly gone: AbortSignal
  /** Time of `performance.now()` from which on nobody waits for the answer; unset: the patience alone counts. */
  readonly deadline?: number
}

interface Patience {
  readonly key: FoundKey
  readonly want: PurseWish
  /** Time of `performance.now()` from which on nothing is waited for. */
  readonly end: number
}

interface Line {
  /** Ends when the last one of the line has had its turn. */
  last: Promise<unknown>
  length: number
  wake: () => void
}

/** Sets credits aside, and waits for those that requests in work may give back before it says that there are none. */
export class Purse {
  readonly #pool: pg.Pool
  readonly #patienceMs: number
  readonly #lines = new Map<number, Line>()

  constructor(pool: pg.Pool, patienceMs = usualPatienceMs) {
    this.#pool = pool
    this.#patienceMs = patienceMs
  }

  /** `busy` only when the others kept theirs for longer than anybody should wait. */
  async reserve(key: FoundKey, want: PurseWish): Promise<Charge | Unpaid> {
    // Counted from here: nobody waits for the patience of those before, one after the other.
    const end = Math.min(performance.now() + this.#patienceMs, want.deadline ?? Infinity)
    if (!this.#lines.has(key.accountId)) {
      const first = await reserveCredits(this.#pool, key, want)
      if (first.kind !== 'busy') return first
    }
    return await this.#inLine(key.accountId, (line) => this.#patiently(line, { key, want, end }))
  }

  /** Credits of the account came back: whoever waits for some looks again. */
  wake(account: number): void {
    this.#lines.get(account)?.wake()
  }

  /** In order of arrival: a dear search is not overtaken for ever by cheap ones. */
  async #inLine<T>(account: number, work: (line: Line) => Promise<T>): Promise<T> {
    const line = this.#lines.get(account) ?? {
      last: Promise.resolve(),
      length: 0,
      wake: () => undefined,
    }
    this.#lines.set(account, line)
    line.length += 1
    const turn = line.last.then(() => work(line))
    line.last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      line.length -= 1
      if (line.length === 0) this.#lines.delete(account)
    }
  }

  async #patiently(line: Line, { key, want, end }: Patience): Promise<Charge | Unpaid> {
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
  }
}

interface RateLimits {
  /** Requests a second of the test keys of one account. */
  readonly test: number
  /** Requests a second of an account without a limit of its own: what nobody reaches who means well. */
  readonly live: number
}

/** What is allowed to everybody unless the operator says otherwise. */
export const usualLimits: RateLimits = { test: 1000, live: 10_000 }

/** Counts the requests of each account in windows of one second. */
export class Turnstile {
  readonly #pool: pg.Pool
  readonly #limits: RateLimits
  readonly #windows = new Map<string, { second: number; count: number }>()

  constructor(pool: pg.Pool, limits: RateLimits) {
    this.#pool = pool
    this.#limits = limits
  }

  /** The headers that name the limit of a key; throws when this request is one too many. */
  async pass(key: FoundKey): Promise<Record<string, string>> {
    const { accountId, kind } = key
    const limit = kind === 'test' ? this.#limits.test : (key.rate ?? this.#limits.live)
    let count = this.#count(`${kind} ${accountId}`)
    // A limit that was agreed on holds over all processes. What is over it here already is not counted there.
    if (kind === 'live' && key.rate !== null && count <= limit)
      count = await this.#countAll(accountId)
    const headers = rateHeaders(limit, count)
    if (count <= limit) return headers
    const many = limit === 1 ? '1 request' : `${limit} requests`
    throw new Refusal(429, `At most ${many} a second`, { ...headers, 'retry-after': '1' })
  }

  #count(name: string): number {
    const second = Math.floor(Date.now() / 1000)
    const window = this.#windows.get(name)
    if (window === undefined || window.second !== second) {
      this.#windows.set(name, { second, count: 1 })
      return 1
    }
    window.count += 1
    return window.count
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

/** The window is one second, so one second is always long enough. */
function rateHeaders(limit: number, count: number): Record<string, string> {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(Math.max(0, limit - count)),
    'x-ratelimit-reset': '1',
  }
}
