import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** What an analyst wrote about a day. */
export interface Note {
  readonly date: string
  readonly text: string
  readonly tag: string
}

/** The notes that concern a label, the oldest first; those about every query concern each. */
export async function readNotes(db: Database, tag: string): Promise<readonly Note[]> {
  const { rows } = await sql<Note>`
    select date, text, tag
    from notes.annotations
    where tag in ('*', ${tag})
    order by date, id
  `.execute(db)
  return rows
}
