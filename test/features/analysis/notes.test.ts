import { afterEach, beforeEach, expect, test } from 'vitest'
import { readNotesBetween } from '../../../src/features/analysis/notes.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
})
afterEach(() => database.close())

test('the notes of a period are those about all queries from its first day to its last, oldest first', async () => {
  await database.pool.query(`insert into notes.annotations (date, text, tag) values
    ('2026-01-06', 'after', '*'),
    ('2026-01-05', 'last day', '*'),
    ('2026-01-03', 'of one label', 'brand'),
    ('2026-01-02', 'first day', '*'),
    ('2026-01-02', 'first day again', '*'),
    ('2026-01-01', 'before', '*')`)
  const notes = await readNotesBetween(database.db, { since: '2026-01-02', until: '2026-01-05' })
  expect(notes).toEqual([
    { date: '2026-01-02', text: 'first day', tag: '*' },
    { date: '2026-01-02', text: 'first day again', tag: '*' },
    { date: '2026-01-05', text: 'last day', tag: '*' },
  ])
})
