// Builds the page context: connections, access, filters, links.

import { sql } from '../base/database/kysely.ts'
import { inTime, withinTime } from '../base/database/sql-file.ts'
import { localDate } from '../base/time/zone.ts'
import { lookAhead } from '../core/runs/status-command.ts'
import { readOrigins } from '../features/analysis/origins.ts'
import { readSnapshot } from '../features/analysis/snapshot.ts'
import type { PageAddress } from './address.ts'
import type { DeskReading, PagePlace } from './page.ts'
import type { DeskGround } from './tables.ts'

const pageTimeoutMs = 15_000
const forecastMs = 2_000
const brieflyMs = 1_000

/** Read access for a page, with the filters that every page has. */
export async function readingOf(
  { config, tables }: DeskGround,
  address: PageAddress,
  signal: AbortSignal,
): Promise<DeskReading> {
  const { mill, reader, analyst } = await tables.open()
  const typed = address.text('origins')
  const origins = typed === null ? await tables.shownOrigins() : readOrigins(typed)
  const suspects = address.ticked('suspects')
  const snapshot = { origins, suspects, timeoutMs: pageTimeoutMs }
  return {
    config,
    mill,
    pool: analyst ?? mill.pool,
    walled: analyst !== null,
    today: localDate(config.zone, new Date()),
    origins,
    suspects,
    signal,
    forecast: () =>
      tables.forecast(() => withinTime(mill.db, forecastMs, (db) => lookAhead({ ...mill, db }))),
    answers: (read) => readSnapshot(mill.db, { ...snapshot, role: reader }, read),
    books: (read) =>
      readSnapshot(mill.db, { ...snapshot, role: null }, async (db) => {
        // Parallel workers would take nearly twice the CPU time for a small gain in speed.
        await sql`set local max_parallel_workers_per_gather = 0`.execute(db)
        return read(db)
      }),
    briefly: (read) =>
      inTime(readSnapshot(mill.db, { ...snapshot, role: null, timeoutMs: brieflyMs }, read)),
  }
}

export function pagePlace(path: string, address: PageAddress, reading: DeskReading): PagePlace {
  const { config, today, origins, suspects } = reading
  const kept = (['origins', 'suspects'] as const)
    .map((name) => [name, address.text(name)] as const)
    .filter(([, value]) => value !== null)
  return {
    path,
    filters: address.filters,
    zone: config.zone,
    today,
    origins,
    suspects,
    id: (name) => name,
    still: false,
    href: (to, more = {}) => hrefOf(to, { ...Object.fromEntries(kept), ...more }),
  }
}

/** Omits filters that are null or empty. */
function hrefOf(path: string, filters: Readonly<Record<string, string | number | null>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filters)) {
    if (value !== null && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? path : `${path}?${text}`
}
