// Sells an answer: reserves credits, searches, settles the cost and stores the answer for replay.

import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { late, within } from '../base/waiting.ts'
import { type KeyCredits, type PaidSearch, settleCredits } from './credits.ts'
import {
  type Answered,
  type Claim,
  claimAnswer,
  giveUpClaim,
  type Provider,
} from './stored-answers.ts'
import { cost } from './keys.ts'
import { clientLeft, Refusal, tooLate } from './refusal.ts'

export interface Sold extends Answered {
  readonly used: number
  readonly remaining: number
  /** True for a replayed answer, which costs nothing. */
  readonly again: boolean
}

export interface SearchSeller {
  readonly pool: pg.Pool
  readonly credits: KeyCredits
  readonly provider: Provider
  /** Age at which an unfinished request counts as dead. No request lasts longer than this. */
  readonly leaseMs: number
}

export interface Order extends PaidSearch {
  readonly idempotencyKey: string | null
}

/** Returns the stored answer to the Idempotency-Key, or sells a new answer. */
export async function sellAnswer(shop: SearchSeller, order: Order): Promise<Sold> {
  const { idempotencyKey: key } = order
  if (key === null) return await sellOnce(shop, order, null)
  const claim = await claimAnswer(shop.pool, order, { key, leaseMs: shop.leaseMs })
  if (claim.kind === 'kept') {
    const { answer, used, remaining } = claim
    return { ...(JSON.parse(answer) as Answered), used, remaining, again: true }
  }
  return await sellOnce(shop, order, claim).catch(async (error: unknown) => {
    await giveUpClaim(shop.pool, claim)
    throw error
  })
}

async function sellOnce(shop: SearchSeller, order: Order, claim: Claim | null): Promise<Sold> {
  const charge = await shop.credits.reserve(order)
  const start = performance.now()
  const settle = (credits: number, status: number, answer?: string) => {
    const keep = claim === null || answer === undefined ? null : { ...claim, answer }
    const ms = performance.now() - start
    const ending = { credits, status, ms, provider: shop.provider.name, keep }
    return settleCredits(shop.pool, charge, ending)
  }
  // A search is aborted when the client disconnects, unless an idempotency key allows a later replay.
  const over = claim === null ? order.gone : new AbortController().signal
  const answered = await beforeDeadline(shop, order, over).catch(async (error: unknown) => {
    const status = error instanceof Refusal ? error.status : 500
    await settle(0, order.gone.aborted ? clientGone : status)
    throw error
  })
  const used = cost(answered.answer.organic_results.length)
  const remaining = await settle(used, 200, JSON.stringify(answered))
  if (remaining !== null) return { ...answered, used, remaining, again: false }
  await settle(0, 503)
  throw new Refusal(503, 'The answer took too long; nothing was charged', { 'retry-after': '1' })
}

// The status code that web servers log for a client that disconnected.
const clientGone = 499

async function beforeDeadline(
  { provider }: SearchSeller,
  { key, search, gone, deadline }: Order,
  over: AbortSignal,
): Promise<Answered> {
  const ms = deadline - performance.now()
  // The wait for the database may have lasted until the deadline.
  if (ms <= 0) throw tooLate
  const stop = new AbortController()
  const asker = { account: key.accountId, signal: stop.signal, gone, deadline }
  const answering = provider.answer(search, asker)
  const answered = await within(answering, { ms, signal: over })
  if (answered !== late) return answered
  const reason = over.aborted ? clientLeft : tooLate
  stop.abort(reason)
  // The provider's queue may refuse first, because its error is more precise.
  return await Promise.race([answering, setImmediate().then(() => Promise.reject(reason))])
}
