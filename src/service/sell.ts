// Sells an answer: reserves credits, searches, settles the cost and stores the answer for replay.

import type pg from 'pg'
import { type KeyCredits, type PaidSearch, settleCredits, type Unpaid } from './credits.ts'
import {
  type Answered,
  type Claim,
  claimAnswer,
  giveUpClaim,
  type Provider,
} from './stored-answers.ts'
import { cost } from './keys.ts'
import { clientLeft, Refusal, tooLate } from './refusal.ts'

/** An answer with its price. */
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
  /** Age from which on an unfinished request counts as dead. No request lasts longer than this. */
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
    const answered = JSON.parse(claim.answer) as Answered
    return { ...answered, used: claim.used, remaining: claim.remaining, again: true }
  }
  try {
    return await sellOnce(shop, order, claim)
  } catch (error) {
    await giveUpClaim(shop.pool, claim)
    throw error
  }
}

/** Reserves credits, searches, and settles the cost. If the search fails, all reserved credits are released. */
async function sellOnce(shop: SearchSeller, order: Order, claim: Claim | null): Promise<Sold> {
  const charge = await shop.credits.reserve(order)
  if (charge.kind !== 'charge') throw unpaid(charge, cost(order.search.num))
  const start = performance.now()
  const settle = (credits: number, status: number, answer = '') => {
    const ms = performance.now() - start
    const keep = claim === null ? null : { ...claim, answer }
    const ending = { credits, status, ms, provider: shop.provider.name }
    return settleCredits(shop.pool, charge, { ...ending, keep: answer === '' ? null : keep })
  }
  let answered: Answered
  try {
    // A search is aborted when the client disconnects, unless an idempotency key allows a later replay.
    const over = claim === null ? order.gone : new AbortController().signal
    answered = await beforeDeadline(shop, order, over)
  } catch (error) {
    const status = error instanceof Refusal ? error.status : 500
    await settle(0, order.gone.aborted ? clientGone : status)
    throw error
  }
  const used = cost(answered.answer.organic_results.length)
  const remaining = await settle(used, 200, JSON.stringify(answered))
  if (remaining !== null) return { ...answered, used, remaining, again: false }
  await settle(0, 503)
  throw new Refusal(503, 'The answer took too long; nothing was charged', { 'retry-after': '1' })
}

// The status code that web servers log for a client that disconnected.
const clientGone = 499

async function beforeDeadline(
  shop: SearchSeller,
  { key, search, gone, deadline }: Order,
  over: AbortSignal,
): Promise<Answered> {
  // Waiting for the database may have taken until the deadline.
  if (performance.now() >= deadline) throw tooLate()
  const stop = new AbortController()
  const ended = new Promise<never>((_, reject) => {
    // The rejection is delayed, so that the queue refuses first: the error of the queue is more precise.
    stop.signal.addEventListener('abort', () => setImmediate(reject, stop.signal.reason))
  })
  const left = () => stop.abort(clientLeft())
  const timer = setTimeout(() => stop.abort(tooLate()), Math.max(0, deadline - performance.now()))
  over.addEventListener('abort', left, { once: true })
  try {
    if (over.aborted) left()
    const asker = { account: key.accountId, signal: stop.signal, gone, deadline }
    return await Promise.race([ended, shop.provider.answer(search, asker)])
  } finally {
    clearTimeout(timer)
    over.removeEventListener('abort', left)
  }
}

function unpaid({ kind, remaining }: Unpaid, most: number): Refusal {
  const headers = { 'x-credits-remaining': String(remaining) }
  if (kind === 'busy') {
    const text = 'The credits are reserved for requests in progress; nothing was charged'
    return new Refusal(429, text, { ...headers, 'retry-after': '1' })
  }
  const text = `Not enough credits for this search, which can cost ${most}: ${remaining} left`
  return new Refusal(402, text, headers)
}
