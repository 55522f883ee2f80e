// Pushes a page's changed parts to the browser.

import { setMaxListeners } from 'node:events'
import type { Context } from 'hono'
import { stream } from 'hono/streaming'
import { pause } from '../base/waiting.ts'
import { NotThere, PageAddress } from './address.ts'
import { pageHeaders } from './assets.ts'
import type { DeskEnv } from './guard.ts'
import { type DeskPage, openReading, pagePlace } from './page.ts'
import { problemOf } from './problem.ts'
import { type DeskGround, recent } from './tables.ts'

const everyMs = 2_000
const mostVisitors = 200

export type LivePages = ReturnType<typeof livePages>

/** Sends events to open pages. A page is read once for all its visitors, and only while it has visitors. */
export function livePages(desk: DeskGround, pages: readonly DeskPage[]) {
  const closing = new AbortController()
  // Each open page listens for the desk's shutdown.
  setMaxListeners(0, closing.signal)
  const events = new Map(
    pages
      .filter((page) => page.live !== undefined)
      .map((page) => [page.path, recent(everyMs, () => lookAt(desk, page, closing.signal))]),
  )
  let visitors = 0
  return {
    /** Sends events while the page is open and its visitor is signed in. */
    open: (c: Context<DeskEnv>, admitted: () => boolean): Response => {
      const next = events.get(c.req.query('page') ?? '')
      if (next === undefined) throw new NotThere('There is no live page at this address.')
      if (visitors >= mostVisitors)
        return c.text('Too many live pages are open.\n', 503, pageHeaders)
      const headers = {
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      }
      for (const header of Object.entries({ ...pageHeaders, ...headers })) c.header(...header)
      visitors++
      return stream(c, async (sent) => {
        let last = 'retry: 2000\n\n'
        try {
          // A write completes when the visitor has received the data, so no events accumulate for a slow visitor.
          await sent.write(last)
          while (!sent.aborted && !closing.signal.aborted && admitted()) {
            const event = await next()
            // Unchanged parts are not sent again. Instead, a short comment shows that the connection is alive.
            await sent.write(event === last ? ': still so\n\n' : event)
            last = event
            await pause(everyMs / 2, closing.signal)
          }
        } finally {
          visitors--
        }
      })
    },
    close: () => closing.abort(),
  }
}

/** Returns the HTML of the page's parts, keyed by element id, or the reason why the page could not be read. */
async function lookAt(desk: DeskGround, page: DeskPage, signal: AbortSignal): Promise<string> {
  const found = { parts: {}, problem: null as string | null }
  try {
    const address = new PageAddress({}, new URLSearchParams())
    const reading = await openReading(desk, address, signal)
    const parts = await page.live?.(reading, pagePlace(page.path, address, reading))
    found.parts = Object.fromEntries(
      Object.entries(parts ?? {}).map(([id, { text }]) => [id, text]),
    )
  } catch (thrown) {
    const { view, bug } = problemOf(await desk.tables.explain(thrown))
    if (bug) desk.report(`live ${page.path}: ${String(thrown)}`)
    found.problem = view.title
  }
  return `data: ${JSON.stringify(found)}\n\n`
}
