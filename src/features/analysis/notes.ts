// Analysts' notes about days.
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import type { ReadSpan } from './span.ts'

/** A note that an analyst wrote about a day. */
export interface Note {
  readonly date: string
  readonly text: string
  readonly tag: string
}

/** Notes that apply to some labels, oldest first; notes about all queries apply to each. */
export async function readNotes(db: Database, tags: readonly string[]): Promise<readonly Note[]> {
  const { rows } = await sql<Note>`
    select date, text, tag
    from notes.annotations
    where tag = any (${['*', ...tags]}::text[])
    order by date, id
  `.execute(db)
  return rows
}

/** Notes about all queries within a period, oldest first; shown in charts. */
export async function readNotesBetween(
  db: Database,
  { since, until }: Pick<ReadSpan, 'since' | 'until'>,
): Promise<readonly Note[]> {
  const { rows } = await sql<Note>`
    select date, text, tag
    from notes.annotations
    where tag = '*'
      and date between ${since}::date and ${until}::date
    order by date, id
  `.execute(db)
  return rows
}
