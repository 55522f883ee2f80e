// Determines the period that a page or report covers.
import type { Database } from '../../base/database/database.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import type { DaySpan } from '../../base/time/zone.ts'

/** A period. `cut` is true if the requested period exceeded the maximum. */
export type ReadSpan = Awaited<ReturnType<typeof readSpan>>

/** The requested period. Days that were not given are null. */
export interface AskedSpan {
  readonly since: string | null
  readonly until: string | null
  /** Length of the period in days, if no start is given. */
  readonly days: number
  readonly most: number
}

/** Determines the period, which by default ends on the newest complete day. Its length is limited to `most`. */
export async function readSpan(db: Database, { since, until, days, most }: AskedSpan) {
  type Found = DaySpan & { readonly earliest: string }
  const found = only(await readRows<Found>(db, 'read_span', { since, until, days, most }))
  const cut = found.since < found.earliest
  return { since: cut ? found.earliest : found.since, until: found.until, cut }
}
