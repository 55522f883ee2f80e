import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { closeRuns, endRound } from '../../src/store/slices.ts'
import { freshDatabase } from '../support/database.ts'

/** A run of slices with one task each, all of them answered. */
async function openRun(slices: number) {
  const { db, close } = await freshDatabase()
  onTestFinished(close)
  const { rows } = await sql<{ run: number }>`
    with list as (insert into lists (name, source) values ('list', 'list.csv') returning id),
    run as (
      insert into runs (list_id, run_date, kind, state)
      select id, current_date, 'manual', 'open' from list
      returning id
    ),
    slices as (
      insert into slices (run_id, slice, priority) select id, n, 5 from run, generate_series(1, ${slices}) n
    )
    insert into tasks (run_id, query_id, slice, state)
    select id, gen_random_uuid(), n, 'answered' from run, generate_series(1, ${slices}) n
    returning run_id as run`.execute(db)
  return { db, run: rows[0]?.run ?? 0 }
}

async function stateOf(db: Database, run: number): Promise<string> {
  const row = await db.selectFrom('runs').select('state').where('id', '=', run).executeTakeFirst()
  return row?.state ?? 'none'
}

describe('the round of a slice', () => {
  test('ends its run with the last one, however many there are', async () => {
    const { db, run } = await openRun(130)
    await sql`update tasks set state = 'open'`.execute(db)
    for (let slice = 1; slice <= 130; slice += 1) {
      expect(await stateOf(db, run)).toBe('open')
      await sql`update tasks set state = 'answered' where slice = ${slice}`.execute(db)
      expect(await endRound(db, { run, slice, round: 0 })).toBeNull()
    }
    expect(await stateOf(db, run)).toBe('done')
  })

  test('comes again while a task is open, and leaves its run open', async () => {
    const { db, run } = await openRun(2)
    await sql`update tasks set state = 'open' where slice = 2`.execute(db)
    await endRound(db, { run, slice: 1, round: 0 })
    expect(await endRound(db, { run, slice: 2, round: 0 })).toMatchObject({ slice: 2, round: 1 })
    expect(await stateOf(db, run)).toBe('open')
  })

  test('that an earlier delivery ended changes nothing', async () => {
    const { db, run } = await openRun(1)
    await sql`update slices set round = 3`.execute(db)
    expect(await endRound(db, { run, slice: 1, round: 2 })).toBeNull()
    expect(await stateOf(db, run)).toBe('open')
  })
})

describe('a run', () => {
  test('is closed although the end of a slice was lost, and so is the slice', async () => {
    const { db, run } = await openRun(3)
    await endRound(db, { run, slice: 1, round: 0 })
    await closeRuns(db)
    expect(await stateOf(db, run)).toBe('done')
    const left = await db
      .selectFrom('slices')
      .select('slice')
      .where('done_at', 'is', null)
      .execute()
    expect(left).toEqual([])
  })

  test('stays open as long as one of its tasks is', async () => {
    const { db, run } = await openRun(3)
    await sql`update tasks set state = 'open' where slice = 3`.execute(db)
    await closeRuns(db)
    expect(await stateOf(db, run)).toBe('open')
  })
})
