import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../../src/base/database/database.ts'
import type { DB } from '../../../src/base/database/schema.ts'
import { closeRuns, endRound, listOpenSlices } from '../../../src/core/queue/open-slices.ts'
import { mostBlocks } from '../../support/blocks.ts'
import { freshDatabase } from '../../support/database.ts'

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

/** Runs of this many slices, with 25 open tasks each. */
async function openRuns(slices: number) {
  const { db, pool, close } = await freshDatabase()
  onTestFinished(close)
  await sql`insert into lists (name, source) values ('list', 'list.csv')`.execute(db)
  const addRun = async (kind: string): Promise<number> => {
    const { rows } = await sql<{ id: number }>`
      insert into runs (list_id, run_date, kind, state)
      values (1, current_date, ${kind}, 'open')
      returning id`.execute(db)
    const run = rows[0]?.id ?? 0
    await sql`
      insert into slices (run_id, slice, priority) select ${run}::bigint, n, 5 from generate_series(1, ${slices}::int) n`.execute(
      db,
    )
    await sql`
      insert into tasks (run_id, query_id, slice)
      select ${run}::bigint, gen_random_uuid(), (n - 1) / 25 + 1 from generate_series(1, ${slices * 25}::int) n`.execute(
      db,
    )
    return run
  }
  return { db, pool, addRun }
}

async function stateOf(db: Database, run: number): Promise<string> {
  const row = await db.selectFrom('runs').select('state').where('id', '=', run).executeTakeFirst()
  return row?.state ?? 'none'
}

describe('a round of a slice', () => {
  test('ends its run after the last slice, however many there are', async () => {
    const { db, run } = await openRun(130)
    await sql`update tasks set state = 'open'`.execute(db)
    for (let slice = 1; slice <= 130; slice += 1) {
      expect(await stateOf(db, run)).toBe('open')
      await sql`update tasks set state = 'answered' where slice = ${slice}`.execute(db)
      expect(await endRound(db, { run, slice, round: 0 })).toBeNull()
    }
    expect(await stateOf(db, run)).toBe('done')
  })

  test('is repeated while a task is open, and leaves its run open', async () => {
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

test('open slices are listed by page, for one run or for all, without slices that have no open task', async () => {
  const { db, addRun } = await openRuns(4)
  const first = await addRun('manual')
  const second = await addRun('nightly')
  await sql`update tasks set state = 'answered' where run_id = ${first} and slice = 2`.execute(db)
  await sql`update slices set done_at = now() where run_id = ${second} and slice = 3`.execute(db)
  await sql`
    update tasks set not_before = now() + interval '1 hour' where run_id = ${second} and slice = 4`.execute(
    db,
  )
  const keys = async (run?: number, after: { run: number; slice: number } | null = null) =>
    (await listOpenSlices(db, { after, limit: 3, run })).map((one) => `${one.run}.${one.slice}`)
  expect(await keys()).toEqual(['1.1', '1.3', '1.4'])
  expect(await keys(undefined, { run: first, slice: 4 })).toEqual(['2.1', '2.2', '2.4'])
  expect(await keys(second)).toEqual(['2.1', '2.2', '2.4'])
  expect(await keys(first, { run: first, slice: 3 })).toEqual(['1.4'])
  const [, , delayed] = await listOpenSlices(db, { after: null, limit: 3, run: second })
  expect(delayed?.delayMs).toBeGreaterThan(3_500_000)
})

test('a page of open slices reads only their own tasks, whatever the others and the statistics', async () => {
  const { pool, addRun } = await openRuns(2000)
  await addRun('manual')
  await pool.query('analyze')
  const run = await addRun('nightly')
  const asked: CompiledQuery[] = []
  const listening = new Kysely<DB>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void asked.push(query),
  })
  const slices = await listOpenSlices(listening, { after: { run, slice: 100 }, limit: 50, run })
  expect(slices).toHaveLength(50)
  const [query] = asked
  const blocks = await mostBlocks(pool, query?.sql ?? '', query?.parameters ?? [])
  // An index and a few rows for each slice; all tasks together take more than a thousand pages.
  expect(blocks).toBeLessThan(50 * 8)
  const { rows } = await pool.query<{ blocks: number }>(
    `select pg_relation_size('tasks') / 8192 as blocks`,
  )
  expect(rows[0]?.blocks).toBeGreaterThan(1000)
})
