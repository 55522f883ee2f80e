// Opens the database for the desk, for reading only.

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
  readonly report: (line: string) => void
}

interface Opened {
  readonly mill: Mill
  /** Name of the read-only role; null if the database has no read-only role. */
  readonly reader: string | null
  /** Pool with an analyst's login; null if no such login is configured. */
  readonly analyst: Pool | null
}

const connections = 6
/** Connections for two concurrent questions, each with a second connection to cancel the statement. */
const questionConnections = 4
/** Minimum time between connection attempts, so that reloads do not query an unreachable database each time. */
const restMs = 1_000
const originsForMs = 10_000
/**
 * Error codes for a table, view, column, function or schema that was not found: the database was migrated to a
 * different release after it was opened.
 */
const otherSchema = /^(42P01|42703|42883|3F000)$/

/** Opens the database on first use, and reopens it after an outage, because the desk keeps running during an outage. */
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

  /**
   * Returns the open database. If the database is unreachable or of a different release, throws an error that says what
   * to do.
   */
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

  /** Explains a read error. If the schema has changed, the explanation says so. */
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

  /** Default origins: in an embedded database, the origins of the stored answers. */
  async shownOrigins(): Promise<string> {
    const known = this.#origins
    if (known !== null && Date.now() - known.at < originsForMs) return known.origins
    const { mill } = await this.open()
    const { databaseUrl } = this.#config
    const first = await firstOrigins(mill.db, { databaseUrl, report: () => undefined })
    const origins = first ?? (await readShownOrigins(mill.db))
    this.#origins = { at: Date.now(), origins }
    return origins
  }

  /** Closes the database. Safe to call if the database was never opened. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    await this.#closers.close()
  }
}

const leastKeptMs = 2_000

/** Caches the forecast for a time that depends on how long it took to compute. */
class Forecasts {
  #kept: { readonly forecast: CreditForecast | null; readonly until: number } | null = null
  #reading: Promise<CreditForecast | null> | null = null

  /** Returns the forecast; null if reading the forecast takes longer than a page may wait. */
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

// Factor that limits periodic work to about a twentieth of the time.
const restShare = 20

/**
 * Time to wait before repeating work that started at the time `began`, so that a slow database is not queried
 * continuously.
 */
export function restAfter(began: number, leastMs: number): number {
  return Math.max(leastMs, (performance.now() - began) * restShare)
}
