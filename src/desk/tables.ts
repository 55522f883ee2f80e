// Opens the database for the desk, read-only.

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
const leastKeptMs = 2_000
/**
 * Error codes for a table, view, column, function or schema that was not found, because the database was migrated to a
 * different release after it was opened.
 */
const otherSchema = /^(42P01|42703|42883|3F000)$/

/** Opens the database on first use, and reopens it after an outage, because the desk keeps running during an outage. */
export class DeskTables {
  readonly #config: Config
  readonly #say: (line: string) => void
  readonly #origins = new Recent<string>()
  readonly #forecast = new Recent<CreditForecast | null>()
  #closers = new Closers()
  #opening: Promise<Opened> | null = null

  constructor(config: Config, say: (line: string) => void) {
    this.#config = config
    this.#say = say
  }

  /** If the database is unreachable or belongs to a different release, throws an error that says what to do. */
  async open(): Promise<Opened> {
    this.#opening ??= this.#tryToOpen().catch((error: unknown) => {
      setTimeout(() => (this.#opening = null), restMs).unref()
      throw error
    })
    return this.#opening
  }

  async #tryToOpen(): Promise<Opened> {
    const closers = new Closers()
    try {
      const options = { config: this.#config, closers, say: this.#say, name: 'desk', connections }
      const mill = await openMill({ ...options, reading: true, behind: true })
      const url = this.#config.analystUrl
      const { installation, pool } = mill
      const login = { installation, name: 'desk', max: questionConnections }
      const analyst = url === null ? null : await openAnalyst({ url, ...login })
      if (analyst !== null) closers.add('the analyst login', analyst, (open) => open.end())
      this.#closers = closers
      return { mill, reader: await findReader(pool), analyst }
    } catch (error) {
      await closers.close()
      throw error
    }
  }

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
  shownOrigins(): Promise<string> {
    const read = async () => {
      const { db } = (await this.open()).mill
      const { databaseUrl } = this.#config
      const first = await firstOrigins(db, { databaseUrl, report: () => undefined })
      return first ?? readShownOrigins(db)
    }
    return this.#origins.read(read, () => originsForMs)
  }

  /** Returns a recent forecast; null if reading the forecast takes longer than a page may wait. */
  forecast(read: () => Promise<CreditForecast | null>): Promise<CreditForecast | null> {
    return this.#forecast.read(read, (began) => restAfter(began, leastKeptMs))
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    await this.#closers.close()
  }
}

/** Reads a value once for all callers, and caches it for a while. */
class Recent<Value> {
  #reading: Promise<Value> | null = null

  read(look: () => Promise<Value>, keptMs: (began: number) => number): Promise<Value> {
    if (this.#reading !== null) return this.#reading
    const began = performance.now()
    const forget = () => void (this.#reading = null)
    const reading = look()
    reading.then(() => setTimeout(forget, keptMs(began)).unref(), forget)
    this.#reading = reading
    return reading
  }
}

// Factor that limits periodic work to about a twentieth of the time.
const restShare = 20

/** Time to wait before repeating work that started at `began`, so that a slow database is not queried continuously. */
export function restAfter(began: number, leastMs: number): number {
  return Math.max(leastMs, (performance.now() - began) * restShare)
}
