// Builds the HTTP application of the search service from its routes.

import { OpenAPIHono } from '@hono/zod-openapi'
import { createMiddleware } from 'hono/factory'
import { addDashboard, type DashboardParts } from './dashboard/dashboard.ts'
import { arrivalOf, checkRequest, compress } from './listen.ts'
import { errorPage, frontPage, keyPage, openapiHead, securitySchemes } from './openapi.ts'
import type { DoorEnv } from './keys.ts'
import { Refusal } from './refusal.ts'
import { databaseAway, refuse, trace, type Tracing } from './reply.ts'
import { addSearch, type SearchParts } from './search-route.ts'
import { addUsage } from './usage-route.ts'

type AppParts = SearchParts & Tracing & DashboardParts

/** Builds the whole service as one function from request to response. */
export function buildApp(parts: AppParts): OpenAPIHono<DoorEnv> {
  const root = new OpenAPIHono<DoorEnv>()
  const replying = { log: parts.log, docsUrl: () => `${parts.publicUrl()}/docs` }
  root.use('*', trace(parts))
  root.use('*', endInTime(parts.deadlineMs + settlementMs))
  root.use('*', compress(parts.basePath))
  root.use('*', async (c, next) => {
    const refusal = checkRequest(c.req.raw)
    // Dashboard forms are the only requests that are not GET.
    if (refusal !== null && !isForm(c.req.raw, parts.basePath)) throw refusal
    await next()
  })
  root.notFound((c) => refuse(replying, new Refusal(404, 'There is nothing at this address'), c))
  root.onError((error, c) => refuse(replying, error, c))
  const app = root.basePath(parts.basePath)
  addSearch(app, parts)
  addUsage(app, parts)
  describe(app, parts)
  addDashboard(app, parts)
  app.get('/healthz', async (c) => {
    await parts.pool.query('select 1')
    return c.json({ ok: true })
  })
  for (const path of new Set([parts.basePath, `${parts.basePath}/`])) {
    root.get(path, (c) => c.html(frontPage(parts.basePath)))
  }
  app.get('/docs/authentication', (c) => c.html(keyPage))
  app.get('/docs/errors', (c) => c.html(errorPage))
  return root
}

// After the deadline of a search, this much time is left to settle it.
const settlementMs = 3000

/** Responds to a request at the latest this long after its arrival, even if the database hangs. */
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
  return method === 'POST' && new URL(url).pathname.startsWith(`${basePath}/dashboard/`)
}

/** Writes the OpenAPI document, which lists each path without the base path: that belongs to the server address. */
function describe(app: OpenAPIHono<DoorEnv>, { basePath, publicUrl }: AppParts): void {
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    app.openAPIRegistry.registerComponent('securitySchemes', name, scheme)
  }
  app.get('/openapi.json', (c) => {
    const document = app.getOpenAPI31Document(openapiHead(publicUrl()))
    const paths = Object.entries(document.paths ?? {}).map(([path, item]) => [
      path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path,
      item,
    ])
    return c.json({ ...document, paths: Object.fromEntries(paths) as object })
  })
}
