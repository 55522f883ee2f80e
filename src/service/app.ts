import { createRoute, OpenAPIHono } from '@hono/zod-openapi'
import type { Log } from '../shared/log.ts'
import type { Answered, Provider } from './answer.ts'
import { askForKey, openTurnstile, type DoorEnv } from './door.ts'
import { errorPage, keyPage } from './docs.ts'
import type { FoundKey, KeyRing } from './keyring.ts'
import { openapiHead, responses } from './openapi.ts'
import { Refusal } from './refusal.ts'
import { readSearch, searchParams, type Search, type SearchResponse } from './schemas.ts'
import { sellAnswer, type Shop, type Sold } from './sell.ts'

export interface AppParts extends Shop {
  readonly keys: KeyRing
  /** Answers for test keys. */
  readonly mock: Provider
  readonly basePath: string
  readonly docsUrl: () => string
  readonly log: Log
}

const secureHeaders = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
const jsonType = { 'content-type': 'application/json; charset=utf-8' }

/** Everything that the service answers, as one function from request to response. */
export function buildApp(parts: AppParts): OpenAPIHono<DoorEnv> {
  const app = new OpenAPIHono<DoorEnv>().basePath(parts.basePath)
  const turnstile = openTurnstile()
  const route = createRoute({
    method: 'get',
    path: '/v1/search',
    summary: 'Search the web',
    security: [{ bearer: [] }, { parameter: [] }],
    middleware: [askForKey(parts.keys)] as const,
    request: { query: searchParams },
    responses,
  })
  app.openapi(
    route,
    async (c) => {
      const search = readSearch(c.req.valid('query'))
      const key = c.get('key')
      const headers = turnstile(key)
      const sold = await serve(parts, key, search)
      return c.json(respond(search, sold), 200, { ...headers, ...answerHeaders(sold) })
    },
    (result) => {
      if (result.success) return
      throw new Refusal(400, result.error.issues[0]?.message ?? 'The parameters are not valid')
    },
  )
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
  })
  app.openAPIRegistry.registerComponent('securitySchemes', 'parameter', {
    type: 'apiKey',
    in: 'query',
    name: 'api_key',
  })
  app.get('/openapi.json', (c) =>
    c.json(app.getOpenAPI31Document(openapiHead(parts.docsUrl().replace(/\/docs$/, '')))),
  )
  app.get('/healthz', async (c) => {
    await parts.pool.query('select 1')
    return c.json({ ok: true })
  })
  app.get('/docs/authentication', (c) => c.html(keyPage))
  app.get('/docs/errors', (c) => c.html(errorPage))
  app.notFound(() => refuse(parts, new Refusal(404, 'Nothing lives at this address')))
  app.onError((error) => refuse(parts, error))
  return app
}

async function serve(parts: AppParts, key: FoundKey, search: Search): Promise<Sold> {
  if (key.kind === 'live') return await sellAnswer(parts, key, search)
  // Nothing is written down for a test key: it leaves balance and usage as they were.
  const answered = await parts.mock.answer(search, {
    account: key.accountId,
    signal: AbortSignal.timeout(parts.deadlineMs),
  })
  return { ...answered, used: 0, remaining: key.remaining }
}

function respond(search: Search, { answer, used, remaining }: Sold): SearchResponse {
  return {
    success: true,
    query: search.q,
    intent: answer.intent,
    sentiment: answer.sentiment,
    clusters: [...answer.clusters],
    entities: [...answer.entities],
    organic_results: [...answer.organic_results],
    related_searches: [...answer.related_searches],
    credits_used: used,
    credits_remaining: remaining,
  }
}

function answerHeaders({ ignored, partial }: Answered): Record<string, string> {
  return {
    ...secureHeaders,
    ...jsonType,
    ...(ignored.length === 0 ? {} : { 'x-ignored-params': ignored.join(', ') }),
    ...(partial ? { 'x-upstream-partial': 'true' } : {}),
  }
}

const awayCodes = /^(08|53|57P|55000|3D000)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND)/

/** True for a database that is down, starting, full or cut off: the request itself was right. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  // The driver gives these two no code.
  return awayCodes.test(code) || /^(Connection terminated|timeout exceeded)/.test(error.message)
}

/** The one place where anything that went wrong becomes an answer. */
export function refuse(parts: Pick<AppParts, 'docsUrl' | 'log'>, error: unknown): Response {
  const refusal = error instanceof Refusal ? error : unexpected(parts.log, error)
  return new Response(JSON.stringify(refusal.body(parts.docsUrl())), {
    status: refusal.status,
    headers: { ...refusal.headers, ...secureHeaders, ...jsonType },
  })
}

function unexpected(log: Log, error: unknown): Refusal {
  if (isAway(error)) {
    log.warn({ err: error }, 'the database does not answer')
    return new Refusal(503, 'The database does not answer; try again', { 'retry-after': '5' })
  }
  log.error({ err: error }, 'a request failed')
  return new Refusal(500, 'Something went wrong on our side; nothing was charged')
}
