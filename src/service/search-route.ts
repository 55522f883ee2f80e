// Serves GET /v1/search: checks the key and the parameters, then sells an answer.

import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { type Provider, readIdempotencyKey } from './stored-answers.ts'
import { askForKey, type DoorEnv, type KeyRing } from './keys.ts'
import { arrivalOf } from './listen.ts'
import { searchAnswers } from './openapi.ts'
import {
  cutShort,
  makeTrouble,
  type Order,
  readTrouble,
  sellAnswer,
  type SearchSeller,
  type Sold,
} from './sell.ts'
import type { RateLimiter } from './credits.ts'
import { refuseParams } from './refusal.ts'
import { answerHeaders, keyHeaders, respond } from './reply.ts'
import { readSearch, searchHeaders, searchParams } from './schemas.ts'

export interface SearchParts extends SearchSeller {
  readonly keys: KeyRing
  readonly rateLimiter: RateLimiter
  /** Source of answers for test keys. */
  readonly mock: Provider
}

/** Adds the route. */
export function addSearch(app: OpenAPIHono<DoorEnv>, parts: SearchParts): void {
  const route = createRoute({
    method: 'get',
    path: '/v1/search',
    operationId: 'search',
    summary: 'Search the web',
    security: [{ bearer: [] }, { parameter: [] }],
    middleware: [askForKey(parts.keys)] as const,
    request: { query: searchParams, headers: searchHeaders },
    responses: searchAnswers,
  })
  app.openapi(
    route,
    async (c) => {
      const search = readSearch(c.req.valid('query'))
      const key = c.get('key')
      c.set('rate', await parts.rateLimiter.pass(key))
      const trouble = key.kind === 'test' ? readTrouble(search.q) : null
      const cut = trouble !== null && (await makeTrouble(trouble, c.req.raw.signal))
      const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
      const arrived = arrivalOf(c.env.incoming)
      const order = { key, search, idempotencyKey, gone: c.req.raw.signal, arrived }
      const sold = await serve(parts, order)
      const headers = { ...keyHeaders(c), ...answerHeaders(sold) }
      const body = respond(search, sold)
      if (cut) {
        // This response bypasses the middleware that names the others.
        const named = { ...headers, 'x-request-id': c.get('requestId') }
        // The route type knows complete responses only.
        return cutShort(c.env.outgoing, body, named) as never
      }
      return c.json(body, 200, headers)
    },
    refuseParams,
  )
}

async function serve(parts: SearchParts, order: Order): Promise<Sold> {
  const { key, search } = order
  if (key.kind === 'live') return await sellAnswer(parts, order)
  // Nothing is stored for a test key, so that balance and usage are unchanged.
  const answered = await parts.mock.answer(search, {
    account: key.accountId,
    signal: AbortSignal.timeout(parts.deadlineMs),
    gone: order.gone,
    deadline: performance.now() + parts.deadlineMs,
  })
  return { ...answered, used: 0, remaining: key.remaining, again: false }
}
