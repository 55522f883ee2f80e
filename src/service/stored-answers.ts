// Replays stored answers to repeated idempotency keys, and defines the providers' answers.

import { hash, randomUUID } from 'node:crypto'
import type pg from 'pg'
import { pause } from '../base/waiting.ts'
import type { PaidSearch } from './credits.ts'
import { clientLeft, Refusal } from './refusal.ts'
import type { Search, SearchResponse } from './schemas.ts'

/** The number of seconds for which the same Idempotency-Key returns the same answer. */
export const replaySeconds = 86_400

/** A request's right to produce the answer for its idempotency key. */
export type Claim = Extract<Awaited<ReturnType<typeof claimAnswer>>, { readonly kind: 'claim' }>

export function readIdempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null
  if (/^[\x21-\x7e]{1,255}$/.test(header)) return header
  const problem = 'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces'
  throw new Refusal(400, problem)
}

/**
 * Returns the stored answer to an idempotency key, or claims the right to answer. Waits while another request holds the
 * claim, until the claim is older than the lease.
 */
export async function claimAnswer(
  pool: pg.Pool,
  order: PaidSearch,
  { key, leaseMs }: { readonly key: string; readonly leaseMs: number },
) {
  const { gone } = order
  const account = order.key.accountId
  const asked = hash('sha256', identityOf(order.search), 'buffer')
  for (let waitMs = 20; ; waitMs = Math.min(250, waitMs * 2)) {
    const token = randomUUID()
    const { rowCount } = await pool.query({
      name: 'claim-answer',
      text: claimText,
      values: [account, key, asked, token, leaseMs / 1000],
    })
    if (rowCount === 1) return { kind: 'claim' as const, account, key, token }
    const { rows } = await pool.query<{
      readonly same: boolean
      readonly answer: string | null
      readonly used: number
      readonly remaining: number
    }>({
      name: 'read-answer',
      text: 'select asked = $3 as same, answer, used, remaining from kept_answers where account_id = $1 and key = $2',
      values: [account, key, asked],
    })
    for (const { same, answer, used, remaining } of rows) {
      const text = 'This Idempotency-Key was used for another search; nothing was charged'
      if (!same) throw new Refusal(422, text)
      if (answer !== null) return { kind: 'kept' as const, answer, used, remaining }
    }
    if (performance.now() > order.deadline) {
      const text = 'The first request with this Idempotency-Key is still in progress'
      throw new Refusal(409, text, { 'retry-after': '1' })
    }
    await pause(waitMs, gone)
    if (gone.aborted) throw clientLeft
  }
}

const claimText = `
  insert into kept_answers as kept (account_id, key, asked, claim)
  values ($1, $2, $3, $4)
  on conflict (account_id, key) do update
  set asked = excluded.asked, claim = excluded.claim, claimed_at = now(), answer = null
  where kept.claimed_at < now() - make_interval(secs => ${replaySeconds})
    or (kept.answer is null and kept.asked = excluded.asked and kept.claimed_at < now() - make_interval(secs => $5))`

/** Returns a string that is the same for equal requests. A default value is the same as an absent parameter. */
function identityOf(search: Search): string {
  const hl = search.hl?.toLowerCase() === 'en' ? null : search.hl
  const device = search.device === 'desktop' ? null : search.device
  return JSON.stringify({ ...search, hl, device })
}

export async function giveUpClaim(pool: pg.Pool, { account, key, token }: Claim): Promise<void> {
  await pool.query({
    name: 'give-up-claim',
    text: 'delete from kept_answers where account_id = $1 and key = $2 and claim = $3 and answer is null',
    values: [account, key, token],
  })
}

export type FoundAnswer = Omit<
  SearchResponse,
  'success' | 'query' | 'credits_used' | 'credits_remaining'
>

export interface Answered {
  readonly answer: FoundAnswer
  /** Parameters that were sent but had no effect. */
  readonly ignored: readonly string[]
  /** True if some of the engines behind the answer failed. */
  readonly partial: boolean
}

export interface Asker {
  /** Accounts take turns at the upstream. */
  readonly account: number
  readonly signal: AbortSignal
  /** Aborted when the client disconnects. This ends the search only while it is queued. */
  readonly gone: AbortSignal
  /** Time on the `performance.now()` clock by which the answer is due. */
  readonly deadline: number
}

/** A source of answers: generated pages, the documents on this machine, or the web. */
export interface Provider {
  readonly name: string
  answer(search: Search, asker: Asker): Promise<Answered>
}
