// A page's context, and the steps for building the page: parse its address, read its data, and draw its HTML.

import type { Database } from '../base/database/database.ts'
import { sql } from '../base/database/kysely.ts'
import { inTime } from '../base/database/sql-file.ts'
import { prepareReading, type ViewReading } from '../base/database/views.ts'
import { localDate } from '../base/time/zone.ts'
import { readOrigins } from '../features/analysis/origins.ts'
import type { PageAddress } from './address.ts'
import type { Html } from './drawing/html.ts'
import type { DeskGround } from './tables.ts'

const pageTimeoutMs = 15_000
const brieflyMs = 1_000

export type DeskReading = Awaited<ReturnType<typeof openReading>>

/** Read-only access to a page's data, with the filters that every page has. */
export async function openReading(
  { config, tables }: DeskGround,
  address: PageAddress,
  signal: AbortSignal,
) {
  const { mill, reader, analyst } = await tables.open()
  const typed = address.text('origins')
  const origins = typed === null ? await tables.shownOrigins() : readOrigins(typed)
  const suspects = address.ticked('suspects')
  const snapshot = { origins, suspects, role: null, timeoutMs: pageTimeoutMs }
  return {
    config,
    mill,
    /** Pool for statements that run as in `npm run sql`, in the read-only role. */
    pool: analyst ?? mill.pool,
    /** True if `pool` uses an analyst's login, which limits what statements can do. */
    walled: analyst !== null,
    today: localDate(config.zone, new Date()),
    /** Origins of the answers shown, such as `live,sandbox`. */
    origins,
    suspects,
    /** Aborted if the visitor leaves before the response is sent. */
    signal,
    forecast: () => tables.forecast(),
    /** Reads a snapshot of the data that analysts may read, in the read-only role. */
    answers: <T>(read: (db: Database) => Promise<T>) =>
      readSnapshot(mill.db, { ...snapshot, role: reader }, read),
    /** Reads a snapshot of all data, including internal tables. */
    books: <T>(read: (db: Database) => Promise<T>) =>
      readSnapshot(mill.db, snapshot, async (db) => {
        // Parallel workers would take nearly twice the CPU time for a small gain in speed.
        await sql`set local max_parallel_workers_per_gather = 0`.execute(db)
        return read(db)
      }),
    /** Reads optional data from any table. Returns null if reading takes longer than a second. */
    briefly: <T>(read: (db: Database) => Promise<T>) =>
      inTime(readSnapshot(mill.db, { ...snapshot, timeoutMs: brieflyMs }, read)),
  }
}

interface Snapshot extends ViewReading {
  /** Role used for reading, or null for the user in DATABASE_URL. */
  readonly role: string | null
}

/** Runs all statements for a page in one snapshot, in a read-only transaction. */
export function readSnapshot<T>(
  db: Database,
  { role, ...reading }: Snapshot,
  read: (trx: Database) => Promise<T>,
): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await prepareReading(trx, reading)
      if (role !== null) await sql`set local role ${sql.id(role)}`.execute(trx)
      return read(trx)
    })
}

export type PagePlace = Readonly<ReturnType<typeof pagePlace>>

/** Returns the parts of the context that are needed to draw a page. */
export function pagePlace(
  path: string,
  address: PageAddress,
  { config: { zone }, today, origins, suspects }: DeskReading,
) {
  const kept = Object.fromEntries(
    [...address.filters].filter(([name]) => name === 'origins' || name === 'suspects'),
  )
  return {
    path,
    filters: address.filters,
    zone,
    today,
    origins,
    suspects,
    /** Builds a desk address with the filters that all pages share; null if this page can't link to it. */
    href: (
      to: string,
      filters: Readonly<Record<string, string | number | null>> = {},
    ): string | null => {
      const query = new URLSearchParams()
      for (const [name, value] of Object.entries({ ...kept, ...filters })) {
        if (value !== null && value !== '') query.set(name, String(value))
      }
      return query.size === 0 ? to : `${to}?${query.toString()}`
    },
    /** Builds an element id. Parts that occur more than once need distinct ids. */
    id: (name: string) => name,
    /** True in a report file, where forms cannot be submitted. */
    still: false as boolean,
  }
}

export interface View {
  readonly title: string
  /** Sentence that describes the page's contents and filters, shown below the title. */
  readonly lead?: Html | string
  readonly body: Html
  /** True if the contents do not depend on the selected origins. */
  readonly plain?: true
}

/** Parts of a page that are updated while the page is open, by element id. */
export type LiveParts = Readonly<Record<string, Html>>

export interface DeskPage {
  /** Path pattern, such as `/nights/:schedule/:date`. */
  readonly path: string
  /** Name in the navigation. Pages without a name are reached only through links. */
  readonly nav?: string
  /** Area of the desk that the page belongs to. Each area has one entry in the navigation. */
  readonly area?: string | undefined
  readonly answer: (address: PageAddress, reading: DeskReading, place: PagePlace) => Promise<View>
  /** Draws the changing parts every two seconds, once for all visitors. */
  readonly live?: (reading: DeskReading, place: PagePlace) => Promise<LiveParts>
}

interface PageRecipe<Asked, Found> extends Omit<DeskPage, 'answer'> {
  readonly ask: (address: PageAddress, today: string) => Asked
  /** Throws `NotThere` if an id does not exist. */
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
export interface FilePage {
  readonly path: string
  readonly send: (
    address: PageAddress,
    reading: DeskReading,
  ) => Promise<{
    /** The default is CSV. */
    readonly type?: string
    /** File name that makes the browser save the download instead of displaying it. */
    readonly name: string
    readonly pieces: AsyncIterable<string | Uint8Array> | Buffer
  }>
}
