import { randomUUID } from 'node:crypto'
import { createMiddleware } from 'hono/factory'
import type { Log } from '../shared/log.ts'
import type { DoorEnv } from './door.ts'

export interface Tracing {
  readonly log: Log
  readonly logged: Logged
}

/** What is written down of each request. What was searched for is the client's business, unless asked for. */
export const loggings = ['requests', 'queries', 'none'] as const
export type Logged = (typeof loggings)[number]

/** A name for one request: in its answer, in its error and in the log. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}

// Without parameters, and no address that nobody knows: a key may stand in either.
const known = /\/(v1\/search|v1\/usage|healthz|openapi\.json|docs\/\w+|dashboard.*)$/

/** Names every request, and writes one line about each when it is answered. */
export function trace({ log, logged }: Tracing) {
  return createMiddleware<DoorEnv>(async (c, next) => {
    const start = performance.now()
    const id = newRequestId()
    c.set('requestId', id)
    await next()
    c.res.headers.set('x-request-id', id)
    if (logged === 'none') return
    const key = c.get('key')
    const line = {
      request: id,
      method: c.req.raw.method,
      path: known.exec(c.req.path)?.[0] ?? 'other',
      status: c.res.status,
      ms: Math.round((performance.now() - start) * 10) / 10,
      ...(key === undefined ? {} : { key: key.id, account: key.accountId, kind: key.kind }),
      ...(logged === 'queries' ? { q: c.req.query('q')?.slice(0, 2048) } : {}),
    }
    log.info(line, 'answered')
  })
}
