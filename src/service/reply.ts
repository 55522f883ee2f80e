// Turns answers and errors into HTTP responses, and logs requests.

import { randomUUID } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { codeOf, reasonOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { replaySeconds } from './sell.ts'
import type { DoorEnv } from './keys.ts'
import { databaseAway, ourFault, Refusal } from './refusal.ts'

/** Headers for every response. A response belongs to one key, so caches must not store it. */
export const secureHeaders = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
export const jsonType = { 'content-type': 'application/json; charset=utf-8' }

/** Headers for every response to a request with a valid key, even if the request is refused. */
export function keyHeaders(c: Context<DoorEnv>): Record<string, string> {
  const key = c.get('key')
  if (key === undefined) return {}
  const reset = Math.ceil(((key.renewsAt?.getTime() ?? 0) - Date.now()) / 1000)
  return {
    'x-credits-used': '0',
    'x-credits-remaining': String(key.remaining),
    ...(key.renewsAt === null ? {} : { 'x-credits-reset': String(Math.max(1, reset)) }),
    ...(key.kind === 'live' ? { 'x-idempotency-window': String(replaySeconds) } : {}),
    ...c.get('rate'),
  }
}

export interface Replying {
  readonly log: Log
  readonly publicUrl: () => string
}

export function refuse({ log, publicUrl }: Replying, error: unknown, c: Context<DoorEnv>) {
  const refusal = error instanceof Refusal ? error : unexpected(log, error, c.get('requestId'))
  return new Response(JSON.stringify(refusal.body(publicUrl())), {
    status: refusal.status,
    headers: { ...keyHeaders(c), ...refusal.headers, ...secureHeaders, ...jsonType },
  })
}

/** Distinguishes a database that is down, starting, full or unreachable from a bug. */
function unexpected(log: Log, error: unknown, request: string): Refusal {
  const codes = /^(08|53|57P|55000|3D000|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND)/
  // The database driver sets no code for these errors.
  const texts = /^(Connection terminated|timeout exceeded)/
  if (codes.test(codeOf(error) ?? '') || texts.test(reasonOf(error))) {
    log.warn({ err: error, request }, 'the database does not answer')
    return databaseAway
  }
  log.error({ err: error, request }, 'a request failed')
  return ourFault
}

export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}

/** Returns the peer's address or, behind a proxy on this machine, the last address in X-Forwarded-For. */
export function clientOf(c: Context<DoorEnv>): string {
  const { socket } = c.env.incoming
  const said = c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  return isLocal(socket) && isIP(said) > 0 ? said : peerOf(socket)
}

export function isLocal(socket: Socket): boolean {
  return /^(::1$|127\.)/.test(peerOf(socket))
}

function peerOf({ remoteAddress = '' }: Socket): string {
  return remoteAddress.replace(/^::ffff:/, '')
}

// Parameters and unknown paths are not logged, because they may contain a key.
const known = /\/(v1\/search|v1\/usage|healthz|openapi\.json|docs\/\w+|dashboard.*)$/

/** Gives every request an ID, and logs the request without its query. */
export function trace(log: Log) {
  return createMiddleware<DoorEnv>(async (c, next) => {
    const start = performance.now()
    const id = newRequestId()
    c.set('requestId', id)
    // The address is read before the response is sent, because a closed connection has no address.
    const client = clientOf(c)
    await next()
    c.res.headers.set('x-request-id', id)
    const key = c.get('key')
    const { method } = c.req.raw
    const path = known.exec(c.req.path)?.[0] ?? 'other'
    const ms = Math.round((performance.now() - start) * 10) / 10
    const caller = key && { key: key.id, account: key.accountId, kind: key.kind }
    log.info({ request: id, client, method, path, status: c.res.status, ms, ...caller }, 'answered')
  })
}
