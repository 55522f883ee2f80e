import type { HttpBindings } from '@hono/node-server'
import { createMiddleware } from 'hono/factory'
import type { FoundKey, KeyRing } from './keyring.ts'
import { missingKey, refusedKey } from './refusal.ts'

export interface DoorEnv {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    key: FoundKey
    /** What the answer tells about the limit of the key. */
    rate: Record<string, string>
  }
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
