// Types for pages: address, data and HTML.

import type { Config } from '../base/config.ts'
import type { Database, Pool } from '../base/database/database.ts'
import type { CreditForecast } from '../core/forecast/foresee.ts'
import type { Mill } from '../core/mill.ts'
import type { PageAddress } from './address.ts'
import type { Html } from './drawing/html.ts'

/** Read-only access to a page's data. */
export interface DeskReading {
  readonly config: Config
  readonly mill: Mill
  /** Pool for statements that run as in `npm run sql`, in the read-only role. */
  readonly pool: Pool
  /** True if `pool` uses an analyst's login, whose rights no statement can exceed. */
  readonly walled: boolean
  /** Current day in the configured time zone. */
  readonly today: string
  /** Origins of the answers shown, such as `live,sandbox`. */
  readonly origins: string
  /** If true, includes the answers of suspect runs. */
  readonly suspects: boolean
  /** Returns a recent forecast; null if reading the forecast takes too long. */
  readonly forecast: () => Promise<CreditForecast | null>
  /** Aborted if the visitor leaves before the response. */
  readonly signal: AbortSignal
  /** Reads a snapshot of the data that analysts may read, in the read-only role. */
  readonly answers: <T>(read: (db: Database) => Promise<T>) => Promise<T>
  /** Reads optional data in the same way as `books`, but returns null if reading takes longer than a second. */
  readonly briefly: <T>(read: (db: Database) => Promise<T>) => Promise<T | null>
  /** Reads a snapshot of everything, including internal tables, in a read-only transaction. */
  readonly books: <T>(read: (db: Database) => Promise<T>) => Promise<T>
}

export interface PagePlace extends Pick<DeskReading, 'today' | 'origins' | 'suspects'> {
  readonly path: string
  readonly filters: URLSearchParams
  readonly zone: string
  /**
   * Builds a desk address with the filters that every page has. Returns null if the address can't be linked from this
   * page.
   */
  readonly href: (
    path: string,
    filters?: Readonly<Record<string, string | number | null>>,
  ) => string | null
  /** Builds an element id. Parts that occur more than once need distinct ids. */
  readonly id: (name: string) => string
  /** True in a report file, where a form has no server to send requests to. */
  readonly still: boolean
}

export interface View {
  readonly title: string
  /** A sentence below the title that describes the page's contents and filters. */
  readonly lead?: Html | string
  readonly body: Html
  /** True if the contents do not depend on the selected origins. */
  readonly plain?: true
}

/** Parts of a page that are updated while it is open, by element id. */
export type LiveParts = Readonly<Record<string, Html>>

/** A page without its recipe's type parameters, so that all pages have the same type. */
export interface DeskPage {
  /** Path pattern, such as `/nights/:schedule/:date`. */
  readonly path: string
  /** Name in the navigation. Pages without a name are reached by links. */
  readonly nav?: string
  /** Area of the desk that the page belongs to. Each area has one entry in the navigation. */
  readonly area?: string | undefined
  readonly answer: (address: PageAddress, reading: DeskReading, place: PagePlace) => Promise<View>
  /** Draws the changing parts every two seconds, once for all visitors. Each part has the id of a page element. */
  readonly live?: (reading: DeskReading, place: PagePlace) => Promise<LiveParts>
}

/** Steps for building a page: parse its address, read its data, and draw its HTML. */
interface PageRecipe<Asked, Found> extends Omit<DeskPage, 'answer'> {
  readonly ask: (address: PageAddress, today: string) => Asked
  /** Throws `NotThere` with an explanation if an id does not exist. */
  readonly read: (reading: DeskReading, asked: Asked) => Promise<Found>
  readonly show: (found: Found, place: PagePlace, asked: Asked) => View
}

export function definePage<Asked, Found>(recipe: PageRecipe<Asked, Found>): DeskPage {
  return {
    ...recipe,
    area: recipe.area ?? recipe.nav,
    answer: async (address, reading, place) => {
      const asked = recipe.ask(address, reading.today)
      return recipe.show(await recipe.read(reading, asked), place, asked)
    },
  }
}

/** A download: a table as CSV, or a body as received. */
interface Sent {
  /** The default is CSV. */
  readonly type?: string
  /** File name under which the browser saves the download instead of displaying it. */
  readonly name: string
  readonly pieces: AsyncIterable<string | Uint8Array> | Buffer
}

export interface FilePage {
  readonly path: string
  readonly send: (address: PageAddress, reading: DeskReading) => Promise<Sent>
}
