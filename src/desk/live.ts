// Pushes a page's changed parts to the browser.

import { setMaxListeners } from 'node:events'
import type { Context } from 'hono'
import { pause } from '../base/waiting.ts'
import { NotThere, PageAddress } from './address.ts'
import { pageHeaders } from './assets.ts'
import type { DeskEnv } from './guard.ts'
import type { DeskPage } from './page.ts'
import { pagePlace, readingOf } from './place.ts'
import { problemOf } from './problem.ts'
import { type DeskGround, restAfter } from './tables.ts'

type Send = (event: string) => void

const everyMs = 2_000
const mostVisitors = 200
/**
 * Maximum number of pending events. A visitor who does not read events is disconnected before the pending events fill
 * up memory.
 */
const mostWaiting = 64

/** Reads the data once for all visitors to the same page, and only while the page has visitors. */
class LiveRoom {
  readonly #desk: DeskGround
  readonly #page: DeskPage
  readonly #visitors = new Set<Send>()
  readonly #closed: AbortSignal
  #looking = false
  #last = ''

  constructor(desk: DeskGround, page: DeskPage, closed: AbortSignal) {
    this.#desk = desk
    this.#page = page
    this.#closed = closed
  }

  get size(): number {
    return this.#visitors.size
  }

  add(send: Send): () => void {
    this.#visitors.add(send)
    if (this.#last !== '') send(this.#last)
    if (!this.#looking) void this.#watch()
    return () => void this.#visitors.delete(send)
  }

  async #watch(): Promise<void> {
    this.#looking = true
    while (this.#visitors.size > 0 && !this.#closed.aborted) {
      const began = performance.now()
      const event = `data: ${JSON.stringify(await this.#look())}\n\n`
      // Unchanged parts are not sent again. Instead, a short comment shows that the connection is alive.
      const told = event === this.#last ? ': still so\n\n' : event
      this.#last = event
      for (const send of this.#visitors) send(told)
      await pause(restAfter(began, everyMs), this.#closed)
    }
    this.#looking = false
    this.#last = ''
  }

  /** Reads the parts' HTML by element id, or the reason why the page could not be read. */
  async #look() {
    try {
      const address = new PageAddress({}, new URLSearchParams())
      const reading = await readingOf(this.#desk, address, this.#closed)
      const place = pagePlace(this.#page.path, address, reading)
      const parts = Object.entries((await this.#page.live?.(reading, place)) ?? {})
      return { parts: Object.fromEntries(parts.map(([id, { text }]) => [id, text])), problem: null }
    } catch (thrown) {
      const { view, bug } = problemOf(await this.#desk.tables.explain(thrown))
      if (bug) this.#desk.report(`live ${this.#page.path}: ${String(thrown)}`)
      return { parts: {}, problem: view.title }
    }
  }
}

export class LiveRooms {
  readonly #rooms: ReadonlyMap<string, LiveRoom>
  readonly #closing = new AbortController()

  constructor(desk: DeskGround, pages: readonly DeskPage[]) {
    // Each open page listens for the desk's shutdown.
    setMaxListeners(0, this.#closing.signal)
    this.#rooms = new Map(
      pages
        .filter((page) => page.live !== undefined)
        .map((page) => [page.path, new LiveRoom(desk, page, this.#closing.signal)]),
    )
  }

  /** Sends events while the page is open and its visitor is signed in. */
  open(c: Context<DeskEnv>, admitted: () => boolean): Response {
    const room = this.#rooms.get(c.req.query('page') ?? '')
    if (room === undefined) throw new NotThere('There is no such live page.')
    const visitors = [...this.#rooms.values()].reduce((sum, { size }) => sum + size, 0)
    if (visitors >= mostVisitors) return c.text('Too many live pages are open.\n', 503, pageHeaders)
    return c.body(this.#stream(room, c.req.raw.signal, admitted), 200, {
      ...pageHeaders,
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    })
  }

  #stream(room: LiveRoom, gone: AbortSignal, admitted: () => boolean): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    const closing = this.#closing.signal
    let leave = () => undefined as void
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const end = () => {
            leave()
            try {
              controller.close()
            } catch {
              // The visitor has already closed the connection.
            }
          }
          const send = (event: string) => {
            if ((controller.desiredSize ?? 0) <= -mostWaiting || !admitted()) end()
            else controller.enqueue(encoder.encode(event))
          }
          send('retry: 2000\n\n')
          const forget = room.add(send)
          leave = () => {
            forget()
            // Without this line, every past visitor's listener would stay in memory.
            closing.removeEventListener('abort', end)
          }
          gone.addEventListener('abort', end, { once: true })
          closing.addEventListener('abort', end, { once: true })
        },
        cancel: () => leave(),
      },
      new CountQueuingStrategy({ highWaterMark: 1 }),
    )
  }

  close(): void {
    this.#closing.abort()
  }
}
