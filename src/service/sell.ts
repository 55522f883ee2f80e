// Sells an answer: reserves credits, searches, settles the cost, and stores the answer for repeated idempotency keys.

import { hash, randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { late, pause, within } from '../base/waiting.ts'
import type { openCredits, PaidSearch } from './credits.ts'
import { cost } from './keys.ts'
import { clientLeft, Refusal, tooLate } from './refusal.ts'
import type { Search, SearchResponse } from './schemas.ts'

export type FoundAnswer = Omit<
  SearchResponse,
  'success' | 'query' | 'credits_used' | 'credits_remaining'
>

export interface Answered {
  readonly answer: FoundAnswer
  /** Parameters that were sent but had no effect. */
  readonly ignored: readonly string[]
  /** True if some search engines failed. */
  readonly partial: boolean
}

export interface Asker extends Pick<PaidSearch, 'deadline'> {
  readonly account: number
  readonly signal: AbortSignal
  /** Aborted when the client disconnects. A queued search then ends; a running search continues. */
  readonly gone: AbortSignal
}

/** A source of answers: generated pages, the documents on this machine, or the web. */
export interface Provider {
  readonly name: string
  answer(search: Search, asker: Asker): Promise<Answered>
}

export interface Sold extends Answered {
  readonly used: number
  readonly remaining: number
  readonly again: boolean
}

export interface SearchSeller {
  readonly pool: pg.Pool
  readonly reserveCredits: ReturnType<typeof openCredits>
  readonly provider: Provider
  /** Age at which an unfinished request is treated as dead. Live requests always end earlier. */
  readonly leaseMs: number
}

export async function sellAnswer(shop: SearchSeller, order: PaidSearch): Promise<Sold> {
  const { idempotencyKey: key } = order
  if (key === undefined) return await sellOnce(shop, order, null)
  const claim = await claimAnswer(shop.pool, order, shop.leaseMs)
  if (typeof claim !== 'string') return claim
  return await sellOnce(shop, order, claim).catch(async (error: unknown) => {
    await shop.pool.query({
      name: 'give-up-claim',
      text: 'delete from kept_answers where account_id = $1 and key = $2 and claim = $3 and answer is null',
      values: [order.key.accountId, key, claim],
    })
    throw error
  })
}

async function sellOnce(shop: SearchSeller, order: PaidSearch, claim: string | null) {
  const id = await shop.reserveCredits(order)
  const start = performance.now()
  /** Charges for the request, and returns the balance, or null if the request was given up and refunded. */
  const settle = async (credits: number, status: number, answer?: Answered) => {
    const ms = Math.round(performance.now() - start)
    const isKept = claim !== null && answer !== undefined
    const kept = isKept ? [order.idempotencyKey, claim, JSON.stringify(answer)] : [null, null, null]
    const { rows } = await shop.pool.query<{ remaining: number }>({
      name: 'settle',
      text: settleText,
      values: [id, order.key.accountId, credits, status, ms, shop.provider.name, ...kept],
    })
    return rows[0]?.remaining ?? null
  }
  // A search is aborted when the client disconnects, unless an idempotency key allows a later replay.
  const over = claim === null ? order.gone : new AbortController().signal
  const answered = await beforeDeadline(shop.provider, order, over).catch(
    async (error: unknown) => {
      const status = error instanceof Refusal ? error.status : 500
      // Web servers log a client disconnect as status 499.
      await settle(0, order.gone.aborted ? 499 : status)
      throw error
    },
  )
  const used = cost(answered.answer.organic_results.length)
  const remaining = await settle(used, 200, answered)
  if (remaining !== null) return { ...answered, used, remaining, again: false }
  await settle(0, 503)
  throw new Refusal(503, 'The answer took too long; nothing was charged', { 'retry-after': '1' })
}

async function beforeDeadline(provider: Provider, order: PaidSearch, over: AbortSignal) {
  const { key, gone, deadline } = order
  const ms = deadline - performance.now()
  if (ms <= 0) throw tooLate
  const stop = new AbortController()
  const asker = { account: key.accountId, signal: stop.signal, gone, deadline }
  const answering = provider.answer(order.search, asker)
  const answered = await within(answering, { ms, signal: over })
  if (answered !== late) return answered
  const reason = over.aborted ? clientLeft : tooLate
  stop.abort(reason)
  // The provider's queue refuses first, because its error is more precise.
  return await Promise.race([answering, setImmediate().then(() => Promise.reject(reason))])
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

/** Number of seconds for which an idempotency key returns the same answer. */
export const replaySeconds = 86_400

/** Returns the stored answer, or claims the idempotency key. Waits while a duplicate request is in progress. */
export async function claimAnswer(pool: pg.Pool, order: PaidSearch, leaseMs: number) {
  const { gone, idempotencyKey: key } = order
  const asked = hash('sha256', identityOf(order.search), 'buffer')
  for (let waitMs = 20; ; waitMs = Math.min(250, waitMs * 2)) {
    const claim = randomUUID()
    const { rows } = await pool.query<{
      readonly claimed: boolean
      readonly same: boolean | null
      readonly answer: string | null
      readonly used: number
      readonly remaining: number
    }>({
      name: 'claim-answer',
      text: `
        with claimed as (
          insert into kept_answers as kept (account_id, key, asked, claim)
          values ($1, $2, $3, $4)
          on conflict (account_id, key) do update
          set asked = excluded.asked, claim = excluded.claim, claimed_at = now(), answer = null
          where kept.claimed_at < now() - make_interval(secs => ${replaySeconds})
            or (kept.answer is null and kept.asked = excluded.asked and kept.claimed_at < now() - make_interval(secs => $5))
          returning claim
        )
        select exists (select from claimed) as claimed, asked = $3 as same, answer, used, remaining
        from (select) as always
        left join kept_answers on account_id = $1 and key = $2`,
      values: [order.key.accountId, key, asked, claim, leaseMs / 1000],
    })
    for (const { claimed, same, answer, used, remaining } of rows) {
      if (claimed) return claim
      const text = 'This Idempotency-Key was used for another search; nothing was charged'
      if (same === false) throw new Refusal(422, text)
      if (answer === null) continue
      return { ...(JSON.parse(answer) as Answered), used, remaining, again: true }
    }
    if (performance.now() > order.deadline) {
      const text = 'The first request with this Idempotency-Key is still in progress'
      throw new Refusal(409, text, { 'retry-after': '1' })
    }
    await pause(waitMs, gone)
    if (gone.aborted) throw clientLeft
  }
}

/** Returns the same string for equal requests. A parameter with its default value counts as absent. */
function identityOf(search: Search): string {
  const hl = search.hl?.toLowerCase() === 'en' ? null : search.hl
  const device = search.device === 'desktop' ? null : search.device
  return JSON.stringify({ ...search, hl, device })
}
