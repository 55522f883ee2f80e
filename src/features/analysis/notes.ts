// Reads facts about days for charts: analysts' notes, and suspect runs.
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { DaySpan } from '../../base/time/zone.ts'

export type Note = Readonly<Awaited<ReturnType<typeof readNotes>>[number]>

/** Reads the notes for the given tags, oldest first. Notes about all queries apply to every tag. */
export function readNotes(db: Database, tags: readonly string[]) {
  return notes(db)
    .where((eb) => eb('tag', '=', eb.fn.any(eb.val(['*', ...tags]))))
    .execute()
}

/** Reads a period's notes that apply to all queries, oldest first, for charts. */
export function readNotesBetween(db: Database, { since, until }: DaySpan) {
  return notes(db)
    .where('tag', '=', '*')
    .where('date', '>=', since)
    .where('date', '<=', until)
    .execute()
}

function notes(db: Database) {
  return db
    .selectFrom('notes.annotations')
    .select(['date', 'text', 'tag'])
    .orderBy('date')
    .orderBy('id')
}

export interface SuspectRun {
  readonly runDate: string
  readonly list: string
  readonly reasons: readonly string[]
}

export function readSuspects(db: Database, { since, until }: DaySpan) {
  return readRows<SuspectRun>(db, 'read_suspect_runs', { since, until })
}
