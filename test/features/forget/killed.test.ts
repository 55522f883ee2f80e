// @module-tag slow
import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { countLeft } from '../../../src/features/forget/subject.ts'
import { startFaulty } from '../../faults/api/standin.ts'
import { copyOf, type FreshDatabase } from '../../support/database.ts'
import { type TestMill, testMill } from '../../support/mill.ts'
import { run, start } from '../../support/run.ts'
import { whereFound } from '../../support/sweep.ts'
import { brokenIn, livedTwoNights, moneyOf } from './scene.ts'

let api: Awaited<ReturnType<typeof startFaulty>>
let lived: FreshDatabase
let mill: TestMill

beforeAll(async () => {
  api = await startFaulty({ seed: 'killed', credits: 10_000, kind: 'live', cost: 1 })
  lived = await livedTwoNights(api)
})
afterAll(() => api.close())
beforeEach(async () => {
  mill = await testMill({ api, database: await copyOf(lived.url) })
  await sql`
    create function public.wait_here() returns trigger language plpgsql as $$
    declare meant boolean;
    begin
      execute 'select ' || tg_argv[0] into meant;
      if meant then perform pg_advisory_xact_lock(hashtext(tg_name)); end if;
      return null;
    end $$`.execute(mill.db)
})
afterEach(() => mill.close())

interface Statement {
  readonly change: 'insert on' | 'update on' | 'delete on'
  readonly table: string
  /** Expected contents of the tables at that time. */
  readonly when?: string
}

/** A statement of `forget` during which the process is killed. */
interface Point extends Statement {
  /** Before it is killed, another process computes the deleted sums again, during this statement. */
  readonly addsUp?: Statement
}

const heldAt = async (lock: string) => {
  const { rows } = await sql`
    select from pg_locks
    where locktype = 'advisory'
      and not granted
      and database = (select oid from pg_database where datname = current_database())
      and objid::bigint = hashtext(${lock})::bigint & 4294967295`.execute(mill.db)
  return rows.length === 1
}
const atWork = async () => {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and application_name like '%forget'`.execute(mill.db)
  return rows.length
}
const patient = { interval: 20 }

/** Blocks processes that run this statement, until the lock is released. */
async function holdAt(holder: PoolClient, lock: string, statement: Statement): Promise<void> {
  const { change, table, when = 'true' } = statement
  await holder.query(
    `create trigger ${lock} after ${change} ${table} for each statement execute function wait_here($$${when}$$)`,
  )
  await holder.query('select pg_advisory_lock(hashtext($1))', [lock])
}

const letGo = (holder: PoolClient, lock: string) =>
  holder.query('select pg_advisory_unlock(hashtext($1))', [lock])

/** Kills a forget process while its last statement is still running on the server, which then ends it. */
async function killAt(args: readonly string[], point: Point): Promise<void> {
  const { addsUp } = point
  const holder = await mill.pool.connect()
  await holdAt(holder, 'killed_here', point)
  if (addsUp !== undefined) await holdAt(holder, 'adds_up_here', addsUp)
  const forgetting = start('forget', [...args, '--yes'], mill.env)
  let ended = false
  void forgetting.ended.then(() => (ended = true))
  const reach = async (lock: string) => {
    await expect.poll(async () => ended || (await heldAt(lock)), patient).toBe(true)
    expect([point, ended, ended ? forgetting.stderr() : '']).toEqual([point, false, ''])
  }
  if (addsUp !== undefined) {
    await reach('adds_up_here')
    const added = await finishDays(mill.db)
    if (added === 0) throw new Error('expected days to be added up, got none')
    await letGo(holder, 'adds_up_here')
  }
  await reach('killed_here')
  forgetting.kill('SIGKILL')
  await forgetting.ended
  await letGo(holder, 'killed_here')
  await expect.poll(atWork, patient).toBe(0)
  await holder.query(`drop trigger killed_here on ${point.table}`)
  if (addsUp !== undefined) await holder.query(`drop trigger adds_up_here on ${addsUp.table}`)
  holder.release()
}

/** Places in which words are found, by word. */
async function foundIn({ db }: TestMill, words: readonly string[]) {
  return Promise.all(words.map((word) => whereFound(db, word)))
}

/** Words found without an interruption: texts of others, and longer names that contain the word. */
async function foundAfter(args: readonly string[], words: readonly string[]) {
  const other = await testMill({ api, database: await copyOf(lived.url) })
  expect(await run('forget', [...args, '--yes'], other.env)).toMatchObject({ code: 0 })
  const found = await foundIn(other, words)
  await other.close()
  return found
}

const sealed = 'exists (select from lists where forgotten_at is not null)'
const forgettings = {
  list: {
    args: ['--list', 'airships'],
    words: ['airships', 'zeppelin one', 'zeppelin two'],
    stays: [],
    points: [
      { change: 'update on', table: 'notices' },
      { change: 'insert on', table: 'forgotten_tasks' },
      { change: 'delete on', table: 'queries' },
      {
        change: 'delete on',
        table: 'list_queries',
        when: 'not exists (select from forgetting_queries)',
      },
      { change: 'delete on', table: 'forgetting_words' },
      { change: 'update on', table: 'lists' },
      {
        change: 'delete on',
        table: 'finished_labels',
        when: sealed,
        addsUp: { change: 'delete on', table: 'expansions' },
      },
    ],
  },
  query: {
    args: ['--query', 'zeppelin one'],
    words: ['zeppelin one'],
    stays: [],
    points: [
      { change: 'insert on', table: 'forgetting_queries' },
      { change: 'insert on', table: 'forgotten_tasks' },
      { change: 'delete on', table: 'queries' },
      { change: 'delete on', table: 'finished_shares' },
    ],
  },
} satisfies Record<string, { args: string[]; words: string[]; stays: string[]; points: Point[] }>

test.each(['list', 'query'] as const)(
  'a %s that is forgotten by a repeatedly killed command is finally named nowhere, and every credit stays explained',
  async (kind) => {
    const { args, words, stays, points } = forgettings[kind]
    const [before, broken] = [await moneyOf(mill.db), await brokenIn(mill.db)]
    const undisturbed = await foundAfter(args, words)
    for (const point of points) {
      await killAt(args, point)
      expect([point, await brokenIn(mill.db)]).toEqual([point, broken])
    }
    expect(await moneyOf(mill.db)).toEqual(before)
    expect(await run('forget', [...args, '--yes'], mill.env)).toMatchObject({ code: 0 })
    const found = await foundIn(mill, words)
    expect(found).toEqual(undisturbed)
    expect(found[0]).toEqual(stays)
    expect(await countLeft(mill.db)).toEqual({ queries: 0, words: 0 })
    expect(await moneyOf(mill.db)).toEqual(before)
    expect(await run('verify', ['--deep'], mill.env)).toMatchObject({ code: 0 })
  },
)
