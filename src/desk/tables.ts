// Opens the database for the desk and reads from it without writing.

import type { Config } from '../base/config.ts'
import type { Pool } from '../base/database/database.ts'
import { checkDatabase } from '../base/database/migrate.ts'
import { findReader } from '../base/database/reader-role.ts'
import { codeOf, WrongDatabase } from '../base/errors.ts'
import { Closers } from '../base/waiting.ts'
import type { CreditForecast } from '../core/forecast/foresee.ts'
import { type Mill, openMill } from '../core/mill.ts'
import { openAnalyst } from '../features/analysis/ask.ts'
import { firstOrigins } from '../features/analysis/origins.ts'
import { readShownOrigins } from '../features/analysis/snapshot.ts'

export interface DeskGround {
  readonly config: Config
  readonly tables: DeskTables
  readonly tell: (line: string) => void
}

interface Opened {
  readonly mill: Mill
  /** Null: the database has no role that may only read. */
  readonly reader: string | null
  /** An analyst's login of its own; null: none is set. */
  readonly analyst: Pool | null
}

const connections = 6
/** Two questions at once, each with one connection more that can end it. */
const questionConnections = 4
/** A database that is away is not asked again by every reload. */
const restMs = 1_000
const originsForMs = 10_000
/** A table, a view or a column that is not there: the database is older or newer than it was when it was opened. */
const otherSchema = /^(42P01|42703|42883|3F000)$/

/** Opens the tables when they are first needed, and again after they were away: a desk outlives its database. */
export class DeskTables {
  readonly forecasts = new Forecasts()
  readonly #config: Config
  readonly #say: (line: string) => void
  #closers = new Closers()
  #opening: Promise<Opened> | null = null
  #origins: { readonly at: number; readonly origins: string } | null = null
  #failed: { readonly at: number; readonly error: unknown } | null = null

  constructor(config: Config, say: (line: string) => void) {
    this.#config = config
    this.#say = say
  }

  /** The tables; throws what a person can act on while they are away or of another release. */
  async open(): Promise<Opened> {
    if (this.#opening !== null) return this.#opening
    if (this.#failed !== null && Date.now() - this.#failed.at < restMs) throw this.#failed.error
    this.#opening = this.#tryToOpen()
    try {
      return await this.#opening
    } catch (error) {
      this.#failed = { at: Date.now(), error }
      this.#opening = null
      throw error
    }
  }

  async #tryToOpen(): Promise<Opened> {
    const closers = new Closers()
    try {
      const options = { config: this.#config, closers, say: this.#say, name: 'desk', connections }
      const mill = await openMill({ ...options, reading: true, behind: true })
      const { analystUrl: url } = this.#config
      const { installation } = mill
      const analyst =
        url === null
          ? null
          : closers.add(
              'the login of analysts',
              await openAnalyst({ url, installation, name: 'desk', max: questionConnections }),
              (pool) => pool.end(),
            )
      const opened = { mill, reader: await findReader(mill.pool), analyst }
      this.#closers = closers
      return opened
    } catch (error) {
      await closers.close()
      throw error
    }
  }

  /** Explains a failed reading: where the schema has changed, says so. */
  async explain(error: unknown): Promise<unknown> {
    if (!otherSchema.test(codeOf(error) ?? '') || this.#opening === null) return error
    try {
      const { mill } = await this.#opening
      await checkDatabase(mill.db)
      return error
    } catch (found) {
      return found instanceof WrongDatabase ? found : error
    }
  }

  /** Kinds of answers for who asked for none: on a machine with nothing, those that are there. */
  async shownOrigins(): Promise<string> {
    const known = this.#origins
    if (known !== null && Date.now() - known.at < originsForMs) return known.origins
    const { mill } = await this.open()
    const { databaseUrl } = this.#config
    const first = await firstOrigins(mill.db, { databaseUrl, tell: () => undefined })
    const origins = first ?? (await readShownOrigins(mill.db))
    this.#origins = { at: Date.now(), origins }
    return origins
  }

  /** Safe while they were never opened. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    await this.#closers.close()
  }
}

const leastKeptMs = 2_000

/** Keeps the forecast for as long as it was dear to compute. */
class Forecasts {
  #kept: { readonly forecast: CreditForecast | null; readonly until: number } | null = null
  #reading: Promise<CreditForecast | null> | null = null

  /** The forecast; null where it takes longer than a look may wait for. */
  async read(look: () => Promise<CreditForecast | null>): Promise<CreditForecast | null> {
    if (this.#kept !== null && this.#kept.until > performance.now()) return this.#kept.forecast
    this.#reading ??= this.#look(look)
    return this.#reading
  }

  async #look(look: () => Promise<CreditForecast | null>): Promise<CreditForecast | null> {
    const began = performance.now()
    try {
      const forecast = await look()
      this.#kept = { forecast, until: performance.now() + restAfter(began, leastKeptMs) }
      return forecast
    } finally {
      this.#reading = null
    }
  }
}

// Work that comes again takes a twentieth of the time at most.
const restShare = 20

/** How long work is not done again that began so long ago: a database that is slow is not asked without a pause. */
export function restAfter(began: number, leastMs: number): number {
  return Math.max(leastMs, (performance.now() - began) * restShare)
}
