import type { Config } from '../../shared/config.ts'
import type { Spender } from '../../credits/reserve.ts'
import { nextDues } from '../../shared/time/cron.ts'
import { formatDate, instantsOf, wallTime } from '../../shared/time/zone.ts'
import { dayMs } from '../../shared/time/duration.ts'

/** Where answers are bought, and whose money pays for them. */
export interface Market {
  readonly origin: 'live' | 'test' | 'sandbox'
  /** Kept with each answer: an answer is reused only for the same API. */
  readonly api: string
  readonly account: string
}

/** Whose balance it is, and how its answers are marked. */
export function marketOf(config: Config): Market {
  if (config.api === null) {
    return { origin: 'sandbox', api: 'bundled', account: config.account ?? 'bundled' }
  }
  const { url, key } = config.api
  const path = url.pathname.replace(/\/+$/, '')
  const origin = key.reveal().startsWith('sk_test_') ? 'test' : 'live'
  return { origin, api: `${url.host}${path}`, account: config.account ?? url.host }
}

/** Who buys, and the rules of the settings for it. */
export function spenderOf(
  { config, market }: { config: Config; market: Market },
  { account, worker, key }: { account: number; worker: number; key: string },
): Spender {
  const { renewal, zone } = config
  return {
    account,
    worker,
    origin: market.origin,
    api: market.api,
    key,
    floor: config.creditFloor,
    dailyBudget: config.dailyBudget,
    rateLimit: config.rateLimit,
    dayOf: (time) => dayOf(zone, time),
    renewalAfter: (time) => {
      if (renewal === null) return null
      const [next] = nextDues(renewal, zone, { after: new Date(time), count: 1 })
      return next?.at.getTime() ?? null
    },
  }
}

/** The local date of an instant, and the instant at which that date ends. */
function dayOf(zone: string, time: number): { day: string; ends: number } {
  const wall = wallTime(zone, new Date(time))
  const midnight = Math.floor(wall / dayMs) * dayMs + dayMs
  return { day: formatDate(wall), ends: instantsOf(zone, midnight)[0] ?? time + dayMs }
}
