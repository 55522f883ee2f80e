// Opens the database for the desk, read-only.

import type { Config } from '../base/config.ts'
import { checkDatabase } from '../base/database/migrate.ts'
import { findReader } from '../base/database/reader-role.ts'
import { withinTime } from '../base/database/sql-file.ts'
import { codeOf, WrongDatabase } from '../base/errors.ts'
import { Closers } from '../base/waiting.ts'
import { openMill } from '../core/mill.ts'
import { lookAhead } from '../core/runs/status-command.ts'
import { openAnalyst } from '../features/analysis/ask.ts'
import { firstOrigins } from '../features/analysis/origins.ts'

export interface DeskGround {
  readonly config: Config
  readonly tables: DeskTables
  readonly report: (line: string) => void
}

const connections = 6
/** Connections for two concurrent questions, each with a second connection to cancel the statement. */
const questionConnections = 4
/** Minimum time between connection attempts, so that not every page reload tries an unreachable database. */
const restMs = 1_000
const originsForMs = 10_000
const forecastForMs = 2_000
const forecastMs = 2_000
/** Error codes for missing objects. They occur if another release migrates the database while the desk runs. */
const otherSchema = /^(42P01|42703|42883|3F000)$/

async function openTables(config: Config, say: (line: string) => void) {
  const closers = new Closers()
  try {
    const options = { config, closers, say, name: 'desk', connections }
    const mill = await openMill({ ...options, reading: true, behind: true })
    const { installation, pool } = mill
    const login = { installation, name: 'desk', max: questionConnections }
    const url = config.analystUrl
    // Null if no analyst's login is configured.
    const analyst = url === null ? null : await openAnalyst({ url, ...login })
    if (analyst !== null) closers.add('the analyst login', analyst, (open) => open.end())
    return { mill, reader: await findReader(pool), analyst, closers }
  } catch (error) {
    await closers.close()
    throw error
  }
}

type DeskTables = ReturnType<typeof deskTables>

/** Opens the database on first use, and reopens it after an outage, because the desk keeps running during an outage. */
export function deskTables(config: Config, say: (line: string) => void) {
  let opening: ReturnType<typeof openTables> | null = null
  const open = () => {
    opening ??= openTables(config, say).catch((error: unknown) => {
      setTimeout(() => (opening = null), restMs).unref()
      throw error
    })
    return opening
  }
  return {
    /** If the database is unreachable or belongs to a different release, throws an error that says what to do. */
    open,
    explain: async (error: unknown): Promise<unknown> => {
      if (!otherSchema.test(codeOf(error) ?? '') || opening === null) return error
      try {
        await checkDatabase((await opening).mill.db)
        return error
      } catch (found) {
        return found instanceof WrongDatabase ? found : error
      }
    },
    /** Default origins. An embedded database uses the origins of its stored answers. */
    shownOrigins: recent(originsForMs, async () => {
      const { db } = (await open()).mill
      const { databaseUrl } = config
      const first = await firstOrigins(db, { databaseUrl, report: () => undefined })
      if (first !== undefined) return first
      const { origins } = await db
        .selectNoFrom(({ fn }) => fn<string[]>('analysis.origins').as('origins'))
        .executeTakeFirstOrThrow()
      return origins.join(',')
    }),
    /** Returns a recent forecast; null if reading the forecast takes longer than a page may wait. */
    forecast: recent(forecastForMs, async () => {
      const { mill } = await open()
      return withinTime(mill.db, forecastMs, (db) => lookAhead({ ...mill, db }))
    }),
    close: async () => {
      const opened = await opening?.catch(() => undefined)
      await opened?.closers.close()
    },
  }
}

// Limits repeated reads to about 5 % of the time, so that a slow database is not queried continuously.
const restShare = 20

/** Returns a function that reads a value and caches it for all callers for at least the given time. */
export function recent<Value>(leastMs: number, look: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | null = null
  return () => {
    if (reading !== null) return reading
    const began = performance.now()
    const forget = () => void (reading = null)
    const keptMs = () => Math.max(leastMs, (performance.now() - began) * restShare)
    reading = look()
    reading.then(() => setTimeout(forget, keptMs()).unref(), forget)
    return reading
  }
}
