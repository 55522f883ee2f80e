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
import { type DeskGround, Recent } from './tables.ts'

const everyMs = 2_000
const mostVisitors = 200

/** Sends events to open pages. A page is read once for all its visitors, and only while it has visitors. */
export class LivePages {
  readonly #desk: DeskGround
  readonly #events: ReadonlyMap<string, () => Promise<string>>
  readonly #closing = new AbortController()
  #visitors = 0

  constructor(desk: DeskGround, pages: readonly DeskPage[]) {
    this.#desk = desk
    // Each open page listens for the desk's shutdown.
    setMaxListeners(0, this.#closing.signal)
    this.#events = new Map(
      pages
        .filter((page) => page.live !== undefined)
        .map((page) => {
          const recent = new Recent<string>(everyMs)
          return [page.path, () => recent.read(() => this.#look(page))]
        }),
    )
  }

  /** Sends events while the page is open and its visitor is signed in. */
  open(c: Context<DeskEnv>, admitted: () => boolean): Response {
    const next = this.#events.get(c.req.query('page') ?? '')
    if (next === undefined) throw new NotThere('This live page does not exist.')
    if (this.#visitors >= mostVisitors)
      return c.text('Too many live pages are open.\n', 503, pageHeaders)
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    }
    for (const header of Object.entries({ ...pageHeaders, ...headers })) c.header(...header)
    this.#visitors++
    return stream(c, async (sent) => {
      const closing = this.#closing.signal
      let last = 'retry: 2000\n\n'
      try {
        // A write ends when the visitor has read it, so no events pile up for a slow visitor.
        await sent.write(last)
        while (!sent.aborted && !closing.aborted && admitted()) {
          const event = await next()
          // Unchanged parts are not sent again. Instead, a short comment shows that the connection is alive.
          await sent.write(event === last ? ': still so\n\n' : event)
          last = event
          await pause(everyMs / 2, closing)
        }
      } finally {
        this.#visitors--
      }
    })
  }

  /** Reads the parts' HTML by element id, or the reason why the page could not be read. */
  async #look(page: DeskPage): Promise<string> {
    const found = { parts: {}, problem: null as string | null }
    try {
      const address = new PageAddress({}, new URLSearchParams())
      const reading = await openReading(this.#desk, address, this.#closing.signal)
      const parts = Object.entries(
        (await page.live?.(reading, pagePlace(page.path, address, reading))) ?? {},
      )
      found.parts = Object.fromEntries(parts.map(([id, { text }]) => [id, text]))
    } catch (thrown) {
      const { view, bug } = problemOf(await this.#desk.tables.explain(thrown))
      if (bug) this.#desk.report(`live ${page.path}: ${String(thrown)}`)
      found.problem = view.title
    }
    return `data: ${JSON.stringify(found)}\n\n`
  }

  close(): void {
    this.#closing.abort()
  }
}
