import { createMiddleware } from 'hono/factory'
import type { FoundKey, KeyRing } from './keyring.ts'
import { RateLimiter, rateHeaders } from './rate.ts'
import { missingKey, Refusal, refusedKey } from './refusal.ts'

export interface DoorEnv {
  Variables: { key: FoundKey }
}

/** Every request shows its key first: without one nothing else of it is looked at. */
export function askForKey(keys: KeyRing) {
  return createMiddleware<DoorEnv>(async (c, next) => {
    const text = sentKey(c.req.header('authorization'), c.req.queries('api_key'))
    if (text === null) throw missingKey()
    const key = await keys.find(text)
    if (key === null) throw refusedKey()
    c.set('key', key)
    await next()
  })
}

// Spec gap 5.2: a Bearer header counts, whether its key is good or not; any other scheme counts as no header.
function sentKey(header: string | undefined, params: string[] | undefined): string | null {
  const bearer = header === undefined ? null : /^bearer(?:\s+(.*))?$/i.exec(header.trim())
  if (bearer !== null) return bearer[1]?.trim() || null
  if (params === undefined || params.length !== 1) return null
  return params[0]?.trim() || null
}

/** Lets as many requests of a key through as its account allows in a second. */
export function openTurnstile(): (key: FoundKey) => Record<string, string> {
  const limiter = new RateLimiter()
  return (key) => {
    if (key.rate === null || key.kind === 'test') return {}
    const state = limiter.take(key.id, key.rate, Date.now())
    if (state.allowed) return rateHeaders(state)
    throw new Refusal(429, `At most ${key.rate} requests a second`, rateHeaders(state))
  }
}
