// Period covered by a page or report.
import type { Database } from '../../base/database/database.ts'
import { only, statement } from '../../base/database/sql-file.ts'

/** Period that is read. */
export interface ReadSpan {
  readonly since: string
  readonly until: string
  /** True if more days were requested than are read at once. */
  readonly cut: boolean
}

/** Requested period; null if none is given. */
export interface AskedSpan {
  readonly since: string | null
  readonly until: string | null
  /** Number of days if no start is specified. */
  readonly days: number
  /** Maximum number of days. */
  readonly most: number
}

/** Determines the period. By default, it ends at the newest complete day; it never exceeds the maximum. */
export async function readSpan(
  db: Database,
  { since, until, days, most }: AskedSpan,
): Promise<ReadSpan> {
  const { rows } = await db.executeQuery(
    statement<{ since: string; until: string; earliest: string }>('read_span', {
      since,
      days,
      most,
      until,
    }),
  )
  const found = only(rows)
  const cut = found.since < found.earliest
  return { since: cut ? found.earliest : found.since, until: found.until, cut }
}

/** If the earlier day has no answers, moves it to the day of the first answers. */
export async function fromFirstAnswers(
  db: Database,
  { since, until, cut }: ReadSpan,
): Promise<ReadSpan> {
  const { rows } = await db.executeQuery(
    statement<{ since: string }>('read_first_answered', { since, until }),
  )
  return { since: only(rows).since, until, cut }
}

/** Version of the stored days of a period and of two compared days; null if one of them is not stored. */
export async function readStoredVersion(
  db: Database,
  days: Pick<ReadSpan, 'since' | 'until'> & { readonly compared: string },
): Promise<string | null> {
  const { rows } = await db.executeQuery(
    statement<{ version: string | null }>('read_stored_version', days),
  )
  return only(rows).version
}
