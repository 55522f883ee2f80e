// Builds the search service's HTTP application: its middleware and its routes.

import { createRoute, OpenAPIHono } from '@hono/zod-openapi'
import { compress } from 'hono/compress'
import { late, within } from '../base/waiting.ts'
import { countRequest } from './credits.ts'
import { errorPage, frontPage, keyPage } from './dashboard/page.ts'
import { addDashboard, type DashboardParts } from './dashboard/dashboard.ts'
import { askForKey, type DoorEnv } from './keys.ts'
import { arrivalOf, checkRequest } from './listen.ts'
import { databaseAway, Refusal, refuseParams } from './refusal.ts'
import { jsonType, keyHeaders, refuse, type Replying, secureHeaders, trace } from './reply.ts'
import * as schemas from './schemas.ts'
import { sellAnswer, type SearchSeller } from './sell.ts'
import type { openMock } from './upstream/mock.ts'

interface AppParts extends SearchSeller, DashboardParts, Replying {
  readonly mock: ReturnType<typeof openMock>
  readonly deadlineMs: number
}

export function buildApp(parts: AppParts): OpenAPIHono<DoorEnv> {
  const app = new OpenAPIHono<DoorEnv>({ defaultHook: refuseParams })
  app.use('*', trace(parts.log))
  app.use('*', async (c, next) => {
    checkRequest(c.req.raw)
    // Responds in time even if the database hangs. A search is settled at most 3 s after its deadline.
    const left = arrivalOf(c.env.incoming) + parts.deadlineMs + 3000 - performance.now()
    if ((await within(next(), { ms: Math.max(0, left) })) === late) throw databaseAway
  })
  app.notFound((c) => refuse(parts, new Refusal(404, 'There is nothing at this address'), c))
  app.onError((error, c) => refuse(parts, error, c))
  // Dashboard pages contain keys and reflected input, so their compressed length could reveal the keys (BREACH).
  for (const path of ['/v1/*', '/openapi.json', '/docs/*']) app.use(path, compress())
  addSearch(app, parts)
  addUsage(app, parts)
  for (const [name, scheme] of Object.entries(schemas.securitySchemes)) {
    app.openAPIRegistry.registerComponent('securitySchemes', name, scheme)
  }
  app.doc31('/openapi.json', () => schemas.openapiHead(parts.publicUrl()))
  addDashboard(app, parts)
  app.get('/healthz', async (c) =>
    c.json({ ok: (await parts.pool.query('select 1')).rowCount === 1 }),
  )
  app.get('/', (c) => c.html(frontPage))
  app.get('/docs/authentication', (c) => c.html(keyPage))
  app.get('/docs/errors', (c) => c.html(errorPage))
  return app
}

const security = [{ bearer: [] }, { parameter: [] }]

function addSearch(app: OpenAPIHono<DoorEnv>, parts: AppParts): void {
  const route = createRoute({
    method: 'get',
    path: '/v1/search',
    operationId: 'search',
    summary: 'Search the web',
    security,
    middleware: [askForKey(parts.keys)] as const,
    request: { query: schemas.searchParams, headers: schemas.searchHeaders },
    responses: schemas.searchAnswers,
  })
  app.openapi(route, async (c) => {
    const search = schemas.readSearch(c.req.valid('query'))
    const key = c.get('key')
    c.set('rate', await countRequest(parts.pool, key))
    const order = {
      key,
      search,
      idempotencyKey: c.req.valid('header')['idempotency-key'],
      gone: c.req.raw.signal,
      deadline: arrivalOf(c.env.incoming) + parts.deadlineMs,
    }
    const { answer, used, remaining, again, ignored, partial } =
      key.kind === 'live'
        ? await sellAnswer(parts, order)
        : { ...(await parts.mock.answer(search)), used: 0, remaining: key.remaining, again: false }
    const { interpretation, ...found } = answer
    const credits = { credits_used: used, credits_remaining: remaining }
    const body = { success: true as const, query: search.q, ...found, ...credits, interpretation }
    return c.json(body, 200, {
      ...keyHeaders(c),
      ...secureHeaders,
      ...jsonType,
      ...(ignored.length === 0 ? {} : { 'x-ignored-params': ignored.join(', ') }),
      ...(partial ? { 'x-upstream-partial': 'true' } : {}),
      ...(again ? { 'x-idempotency-replayed': 'true' } : {}),
      // Set here, because the compression middleware would copy the response to add this header.
      vary: 'Accept-Encoding',
      'x-credits-used': String(used),
      'x-credits-remaining': String(remaining),
    })
  })
}

function addUsage(app: OpenAPIHono<DoorEnv>, { keys, pool }: AppParts): void {
  const route = createRoute({
    method: 'get',
    path: '/v1/usage',
    operationId: 'usage',
    summary: 'Usage of an account',
    security,
    middleware: [askForKey(keys)] as const,
    request: { query: schemas.usageParams },
    responses: schemas.usageAnswers,
  })
  app.openapi(route, async (c) => {
    const key = c.get('key')
    c.set('rate', await countRequest(pool, key))
    const { days = 30 } = c.req.valid('query')
    // Parsing drops fields that are not in the schema.
    const usage = schemas.usageResponse.parse({
      success: true,
      plan: key.plan,
      credits_quota: key.quota,
      credits_used: key.quota - key.remaining,
      credits_remaining: key.remaining,
      renews_at: key.renewsAt?.toISOString() ?? null,
      rate_limit: key.rate,
      days: await keys.usage({ days, account: key.accountId }),
    })
    return c.json(usage, 200, { ...keyHeaders(c), ...secureHeaders })
  })
}
