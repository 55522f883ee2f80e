// Builds the desk's web application: routes, sign-in, pages and live updates.

import { once } from 'node:events'
import { Readable } from 'node:stream'
import { type Context, Hono } from 'hono'
import { NotThere, PageAddress } from './address.ts'
import { type Assets, pageHeaders } from './assets.ts'
import { addDoor, type DeskEnv, type HostGuard } from './guard.ts'
import { type Frame, layOut } from './layout.ts'
import type { LivePages } from './live.ts'
import { type DeskPage, type FilePage, openReading, pagePlace } from './page.ts'
import { problemOf } from './problem.ts'
import type { DeskGround } from './tables.ts'

interface DeskParts extends DeskGround {
  readonly guard: HostGuard
  readonly assets: Assets
  readonly pages: readonly DeskPage[]
  readonly files: readonly FilePage[]
  readonly live: LivePages
}

const assetHeaders = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

/** Defines all desk routes. Except for signing in and out, all routes accept only GET. */
export function makeApp(parts: DeskParts): Hono<DeskEnv> {
  const app = new Hono<DeskEnv>()
  app.use(async (c, next) => {
    parts.guard.checkSource(c)
    await next()
  })
  for (const { path, type, text } of Object.values(parts.assets)) {
    app.get(path, (c) => c.body(text, 200, { ...assetHeaders, 'content-type': type }))
  }
  addDoor(app, parts)
  app.use(async (c, next) => {
    if (parts.guard.admits(c)) return next()
    const wanted = c.req.header('sec-fetch-dest') ?? 'document'
    if (c.req.method === 'GET' && wanted === 'document') {
      const { pathname, search } = new URL(c.req.url)
      return c.redirect(`/enter?to=${encodeURIComponent(pathname + search)}`, 303)
    }
    return c.text('The desk requires a password.\n', 401, pageHeaders)
  })
  for (const page of parts.pages) app.get(page.path, (c) => showPage(c, parts, page))
  for (const file of parts.files) app.get(file.path, (c) => sendFile(c, parts, file))
  app.get('/live', (c) => parts.live.open(c, () => parts.guard.admits(c)))
  app.notFound((c) => showProblem(c, parts, new NotThere('This page does not exist.')))
  app.onError((error, c) => showProblem(c, parts, error))
  return app
}

async function showPage(c: Context<DeskEnv>, parts: DeskParts, page: DeskPage) {
  const address = new PageAddress(c.req.param(), new URL(c.req.url).searchParams)
  const reading = await openReading(parts, address, c.req.raw.signal)
  const place = pagePlace(c.req.path, address, reading)
  const view = await page.answer(address, reading, place)
  return c.html(layOut(view, place, frameOf(parts, page)), 200, pageHeaders)
}

async function showProblem(c: Context<DeskEnv>, parts: DeskParts, thrown: unknown) {
  const error = await parts.tables.explain(thrown)
  const { status, view, again, bug } = problemOf(error)
  if (bug)
    parts.report(`${c.req.path}: ${(error instanceof Error && error.stack) || String(error)}`)
  // A rejected visitor's error page must not name the desk's pages.
  const known = status !== 401 && status !== 403 && status !== 429
  const frame = { ...frameOf(parts, null), again, ...(known ? {} : { pages: [], leave: false }) }
  return c.html(layOut(view, null, frame), status, pageHeaders)
}

function frameOf({ assets, pages, guard }: DeskParts, page: DeskPage | null): Frame {
  return { assets, pages, page, leave: guard.sessions !== null, again: null }
}

/** Streams a file. An error that occurs before the first chunk is sent is shown as a page. */
async function sendFile(c: Context<DeskEnv>, parts: DeskGround, file: FilePage): Promise<Response> {
  const address = new PageAddress(c.req.param(), new URL(c.req.url).searchParams)
  const reading = await openReading(parts, address, c.req.raw.signal)
  const { type = 'text/csv; charset=utf-8', name, pieces } = await file.send(address, reading)
  const body = Readable.from(pieces, { objectMode: false })
  await once(body, 'readable')
  return c.body(Readable.toWeb(body) as ReadableStream<Uint8Array>, 200, {
    ...pageHeaders,
    // A stored body is untrusted, so it must not run as a desk page.
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': type,
    'content-disposition': `attachment; filename="${name.replace(/[^\w.-]+/g, '_')}"`,
  })
}
