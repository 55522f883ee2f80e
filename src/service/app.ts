// Builds the HTTP application of the search service: its middleware and its routes.

import { createRoute, OpenAPIHono } from '@hono/zod-openapi'
import { compress } from 'hono/compress'
import { createMiddleware } from 'hono/factory'
import { addDashboard, addUsagePage, type DashboardParts } from './dashboard/dashboard.ts'
import { askForKey, type DoorEnv } from './keys.ts'
import { arrivalOf, checkRequest } from './listen.ts'
import * as openapi from './openapi.ts'
import { Refusal, refuseParams } from './refusal.ts'
import { databaseAway, keyHeaders, refuse, secureHeaders, trace, type Tracing } from './reply.ts'
import { readSearch, searchHeaders, searchParams, usageParams } from './schemas.ts'
import { type Order, sellAnswer, type SearchSeller, type Sold } from './sell.ts'
import { readIdempotencyKey } from './stored-answers.ts'
import type { openMock } from './upstream/mock.ts'
import { readAccount } from './usage.ts'

interface AppParts extends SearchSeller, Tracing, DashboardParts {
  /** Source of answers for test keys. */
  readonly mock: ReturnType<typeof openMock>
}

/** Builds the whole service as one function from request to response. */
export function buildApp(parts: AppParts): OpenAPIHono<DoorEnv> {
  const root = new OpenAPIHono<DoorEnv>({ defaultHook: refuseParams })
  const replying = { log: parts.log, docsUrl: () => `${parts.publicUrl()}/docs` }
  root.use('*', trace(parts))
  root.use('*', endInTime(parts.deadlineMs + settlementMs))
  root.use('*', async (c, next) => {
    const refusal = checkRequest(c.req.raw)
    // Dashboard forms are the only requests that are not GET.
    if (refusal !== null && !isForm(c.req.raw, parts.basePath)) throw refusal
    await next()
  })
  root.notFound((c) => refuse(replying, new Refusal(404, 'There is nothing at this address'), c))
  root.onError((error, c) => refuse(replying, error, c))
  const app = root.basePath(parts.basePath)
  // Never the dashboard: its pages hold secrets beside reflected input, and their compressed length would reveal them (BREACH).
  for (const path of ['/v1/*', '/openapi.json', '/docs/*']) app.use(path, compress())
  addSearch(app, parts)
  addUsage(app, parts)
  describe(app, parts)
  addDashboard(app, parts)
  addUsagePage(app, parts)
  app.get('/healthz', async (c) => {
    await parts.pool.query('select 1')
    return c.json({ ok: true })
  })
  for (const path of new Set([parts.basePath, `${parts.basePath}/`])) {
    root.get(path, (c) => c.html(openapi.frontPage(parts.basePath)))
  }
  app.get('/docs/authentication', (c) => c.html(openapi.keyPage))
  app.get('/docs/errors', (c) => c.html(openapi.errorPage))
  return root
}

// After the deadline of a search, this much time is left to settle it.
const settlementMs = 3000

/** Responds to a request within this time of its arrival, even if the database hangs. */
function endInTime(ms: number) {
  return createMiddleware<DoorEnv>(async (c, next) => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const left = arrivalOf(c.env.incoming) + ms - performance.now()
      timer = setTimeout(() => reject(databaseAway()), Math.max(0, left))
    })
    try {
      await Promise.race([next(), late])
    } finally {
      clearTimeout(timer)
    }
  })
}

function isForm({ method, url }: Request, basePath: string): boolean {
  const { pathname } = new URL(url)
  return (
    method === 'POST' &&
    (pathname === `${basePath}/usage` || pathname.startsWith(`${basePath}/dashboard/`))
  )
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
    request: { query: searchParams, headers: searchHeaders },
    responses: openapi.searchAnswers,
  })
  app.openapi(route, async (c) => {
    const search = readSearch(c.req.valid('query'))
    const key = c.get('key')
    c.set('rate', await parts.rateLimiter.pass(key))
    const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
    const arrived = arrivalOf(c.env.incoming)
    const order = { key, search, idempotencyKey, gone: c.req.raw.signal, arrived }
    const { answer, used, remaining, again, ignored, partial } = await serve(parts, order)
    const headers = {
      ...keyHeaders(c),
      ...secureHeaders,
      'content-type': 'application/json; charset=utf-8',
      ...(ignored.length === 0 ? {} : { 'x-ignored-params': ignored.join(', ') }),
      ...(partial ? { 'x-upstream-partial': 'true' } : {}),
      ...(again ? { 'x-idempotency-replayed': 'true' } : {}),
      'x-credits-used': String(used),
      'x-credits-remaining': String(remaining),
    }
    const { interpretation, ...found } = answer
    const body = {
      success: true as const,
      query: search.q,
      ...found,
      credits_used: used,
      credits_remaining: remaining,
      // Absent from the JSON if the query was searched as sent. The specification has only the other ten fields.
      interpretation,
    }
    return c.json(body, 200, headers)
  })
}

async function serve(parts: AppParts, order: Order): Promise<Sold> {
  const { key, search } = order
  if (key.kind === 'live') return await sellAnswer(parts, order)
  // Nothing is stored for a test key, so that balance and usage stay unchanged.
  const answered = await parts.mock.answer(search)
  return { ...answered, used: 0, remaining: key.remaining, again: false }
}

/** Adds the route for usage requests, which cost nothing. */
function addUsage(app: OpenAPIHono<DoorEnv>, parts: AppParts): void {
  const route = createRoute({
    method: 'get',
    path: '/v1/usage',
    operationId: 'usage',
    summary: 'Usage of an account',
    security,
    middleware: [askForKey(parts.keys)] as const,
    request: { query: usageParams },
    responses: openapi.usageAnswers,
  })
  app.openapi(route, async (c) => {
    const key = c.get('key')
    const rate = await parts.rateLimiter.pass(key)
    c.set('rate', rate)
    const { days = 30 } = c.req.valid('query')
    const limit = Number(rate['x-ratelimit-limit'])
    const body = await readAccount(parts.pool, key, { days, limit })
    return c.json(body, 200, { ...keyHeaders(c), ...secureHeaders })
  })
}

/** Adds the OpenAPI document. Its paths omit the base path, which is part of the server address. */
function describe(app: OpenAPIHono<DoorEnv>, { basePath, publicUrl }: AppParts): void {
  for (const [name, scheme] of Object.entries(openapi.securitySchemes)) {
    app.openAPIRegistry.registerComponent('securitySchemes', name, scheme)
  }
  app.get('/openapi.json', (c) => {
    const document = app.getOpenAPI31Document(openapi.openapiHead(publicUrl()))
    const paths = Object.entries(document.paths ?? {}).map(([path, item]) => [
      path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path,
      item,
    ])
    return c.json({ ...document, paths: Object.fromEntries(paths) as object })
  })
}
