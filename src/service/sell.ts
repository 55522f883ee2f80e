import type pg from 'pg'
import type { Answered, Provider } from './answer.ts'
import { reserveCredits, settleCredits, type Charge, type Spent } from './credits.ts'
import type { FoundKey } from './keyring.ts'
import { cost } from './plans.ts'
import { Refusal } from './refusal.ts'
import type { Search } from './schemas.ts'

/** An answer with its price. */
export interface Sold extends Answered {
  readonly used: number
  readonly remaining: number
}

export interface Shop {
  readonly pool: pg.Pool
  readonly provider: Provider
  readonly deadlineMs: number
}

/** Credits aside, search, settle. Whatever goes wrong between gives every credit back. */
export async function sellAnswer(shop: Shop, key: FoundKey, search: Search): Promise<Sold> {
  const charge = await reserveCredits(shop.pool, key, { search, credits: cost(search.num) })
  if ('remaining' in charge) throw outOfCredits(charge)
  const start = performance.now()
  let answered: Answered
  try {
    answered = await beforeDeadline(shop, key, search)
  } catch (error) {
    await endCharge(shop, charge, { credits: 0, status: statusOf(error), start })
    throw error
  }
  const used = cost(answered.answer.organic_results.length)
  const remaining = await endCharge(shop, charge, { credits: used, status: 200, start })
  return { ...answered, used, remaining }
}

function endCharge(
  shop: Shop,
  charge: Charge,
  ending: { credits: number; status: number; start: number },
): Promise<number> {
  const { credits, status, start } = ending
  const ms = performance.now() - start
  return settleCredits(shop.pool, charge, { credits, status, ms, provider: shop.provider.name })
}

async function beforeDeadline(shop: Shop, key: FoundKey, search: Search): Promise<Answered> {
  const stop = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      stop.abort()
      reject(new Refusal(504, 'The search took too long; nothing was charged'))
    }, shop.deadlineMs)
  })
  try {
    return await Promise.race([
      shop.provider.answer(search, { account: key.accountId, signal: stop.signal }),
      late,
    ])
  } finally {
    clearTimeout(timer)
  }
}

function outOfCredits({ remaining, renewsAt }: Spent): Refusal {
  const headers: Record<string, string> = { 'x-credits-remaining': String(remaining) }
  if (renewsAt !== null) {
    const seconds = Math.max(1, Math.ceil((renewsAt.getTime() - Date.now()) / 1000))
    headers['x-credits-reset'] = String(seconds)
  }
  return new Refusal(402, `Not enough credits for this search: ${remaining} left`, headers)
}

function statusOf(error: unknown): number {
  return error instanceof Refusal ? error.status : 500
}
