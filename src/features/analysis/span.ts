// Period covered by a page or report.
import type { Database } from '../../base/database/database.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import type { DaySpan } from '../../base/time/zone.ts'

export interface ReadSpan extends DaySpan {
  /** True if the requested period was longer than the maximum. */
  readonly cut: boolean
}

/** The requested period. A day is null if it is not given. */
export interface AskedSpan {
  readonly since: string | null
  readonly until: string | null
  /** Number of days in the period if no start is specified. */
  readonly days: number
  /** Maximum number of days in the period. */
  readonly most: number
}

/** By default, the period ends at the newest complete day. The period never exceeds the maximum. */
export async function readSpan(
  db: Database,
  { since, until, days, most }: AskedSpan,
): Promise<ReadSpan> {
  const rows = await readRows<{ since: string; until: string; earliest: string }>(db, 'read_span', {
    since,
    days,
    most,
    until,
  })
  const found = only(rows)
  const cut = found.since < found.earliest
  return { since: cut ? found.earliest : found.since, until: found.until, cut }
}

/** Moves the start of a period to the day of the first answers, if the start has no answers. */
export async function fromFirstAnswers(
  db: Database,
  { since, until, cut }: ReadSpan,
): Promise<ReadSpan> {
  const rows = await readRows<{ since: string }>(db, 'read_first_answered', { since, until })
  return { since: only(rows).since, until, cut }
}

/** Version of the stored days in a period, and of the two days compared; null if any of these days is not stored. */
export async function readStoredVersion(
  db: Database,
  days: DaySpan & { readonly compared: string },
): Promise<string | null> {
  const parameters = { ...days }
  const rows = await readRows<{ version: string | null }>(db, 'read_stored_version', parameters)
  return only(rows).version
}
