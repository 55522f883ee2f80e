// Types of a page: its address, what it reads, what it draws.

import type { Config } from '../base/config.ts'
import type { Database, Pool } from '../base/database/database.ts'
import type { CreditForecast } from '../core/forecast/foresee.ts'
import type { Mill } from '../core/mill.ts'
import type { PageAddress } from './address.ts'
import type { Html } from './drawing/html.ts'

/** Read-only access to the data of a page. */
export interface DeskReading {
  readonly config: Config
  readonly mill: Mill
  /** For statements that run as `npm run sql` runs them: as the role that may only read. */
  readonly pool: Pool
  /** True: `pool` is an analyst's login of its own, which no statement can leave. */
  readonly walled: boolean
  /** The day in the zone of the settings. */
  readonly today: string
  /** Kinds of answers that are shown, as in `live,sandbox`. */
  readonly origins: string
  /** True: answers of suspect nights as well. */
  readonly suspects: boolean
  /** The forecast, a moment old at most; null where it takes too long to read. */
  readonly forecast: () => Promise<CreditForecast | null>
  /** Aborted when the visitor leaves before the answer. */
  readonly signal: AbortSignal
  /** One snapshot of what analysts may read, as the role that may only read. */
  readonly answers: <T>(read: (db: Database) => Promise<T>) => Promise<T>
  /** The same as `books`, for what a page can do without: null where it takes longer than a second. */
  readonly briefly: <T>(read: (db: Database) => Promise<T>) => Promise<T | null>
  /** One snapshot of everything, the mill's own bookkeeping too, in a transaction that only reads. */
  readonly books: <T>(read: (db: Database) => Promise<T>) => Promise<T>
}

export interface PagePlace {
  readonly path: string
  readonly filters: URLSearchParams
  readonly zone: string
  readonly today: string
  /** Kinds of answers that are shown, as in `live,sandbox`. */
  readonly origins: string
  /** True: answers of suspect nights as well. */
  readonly suspects: boolean
  /** An address of the desk, with the filters that every page has; null: from here nothing leads there. */
  readonly href: (
    path: string,
    filters?: Readonly<Record<string, string | number | null>>,
  ) => string | null
  /** The id of an element: where parts stand more than once, each needs one of its own. */
  readonly id: (name: string) => string
  /** True: in a file, without a desk behind it that a form could ask. */
  readonly still: boolean
}

export interface View {
  readonly title: string
  /** One sentence below the title: what is shown, and how it is filtered. */
  readonly lead?: Html | string
  readonly body: Html
  /** True: what it shows does not depend on the kinds of answers that are chosen. */
  readonly plain?: true
}

/** A piece of a page that changes while it is looked at, by the id of its element. */
export type LiveParts = Readonly<Record<string, Html>>

/** How a page is made: from its address to what it asks, from the tables to what it found, and from that to HTML. */
interface PageRecipe<Asked, Found> {
  /** `/nights/:schedule/:date`. */
  readonly path: string
  /** Its name in the navigation; pages without one are reached by links. */
  readonly nav?: string
  /** The part of the desk that it belongs to, which has one entry in the navigation. */
  readonly area?: string
  readonly ask: (address: PageAddress, today: string) => Asked
  /** Throws `NotThere` with a sentence for an id that names nothing. */
  readonly read: (reading: DeskReading, asked: Asked) => Promise<Found>
  readonly show: (found: Found, place: PagePlace, asked: Asked) => View
  /** Drawn again every two seconds, once for all who look; its parts have the ids of elements of the page. */
  readonly live?: (reading: DeskReading, place: PagePlace) => Promise<LiveParts>
}

/** A page whose own types are nobody else's business. */
export interface DeskPage {
  readonly path: string
  readonly nav: string | null
  readonly area: string | null
  readonly answer: (address: PageAddress, reading: DeskReading, place: PagePlace) => Promise<View>
  readonly live: ((reading: DeskReading, place: PagePlace) => Promise<LiveParts>) | null
}

export function definePage<Asked, Found>(recipe: PageRecipe<Asked, Found>): DeskPage {
  return {
    path: recipe.path,
    nav: recipe.nav ?? null,
    area: recipe.area ?? recipe.nav ?? null,
    live: recipe.live ?? null,
    answer: async (address, reading, place) => {
      const asked = recipe.ask(address, reading.today)
      return recipe.show(await recipe.read(reading, asked), place, asked)
    },
  }
}

/** Something to keep: a table as CSV, a body as it came. */
interface Sent {
  readonly type: string
  /** A name for the file; the browser keeps it instead of showing it. */
  readonly name: string
  readonly pieces: AsyncIterable<string | Uint8Array>
}

export async function* inOnePiece<Piece>(piece: Piece): AsyncGenerator<Piece> {
  yield piece
}

export interface FilePage {
  readonly path: string
  readonly send: (address: PageAddress, reading: DeskReading) => Promise<Sent>
}
