// const table = await openNights() → a database and a list on disk, with scheduler ticks at any chosen time:
// `table.tickAt('2026-10-03T00:00:20Z', scheduleOf({ list: table.file }))`. Nothing is bought.
import { decideByName } from '../../src/features/cadence/choose.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { tick } from '../../src/core/scheduler/tick.ts'
import type { Schedule } from '../../src/core/scheduler/schedule.ts'
import type { Database } from '../../src/base/database/database.ts'
import { freshDatabase } from './database.ts'

const supplier = { origin: 'sandbox', api: 'bundled', account: 'bundled' } as const

export interface NightRow {
  readonly schedule: string
  readonly date: string
  readonly outcome: string | null
  readonly run: number | null
  readonly note: string | null
}

export interface NightTable {
  readonly db: Database
  /** The list: red and blue shoes, until a test writes something else. */
  readonly file: string
  /** Runs whose slices were queued, in order. */
  readonly queued: readonly number[]
  /** Messages from the ticks, line by line. */
  readonly told: readonly string[]
  readonly tickAt: (time: string, ...schedules: Schedule[]) => Promise<void>
  readonly nights: () => Promise<readonly NightRow[]>
  readonly runs: () => Promise<readonly { id: number; date: string; kind: string; state: string }[]>
  readonly queriesOf: (run: number | null | undefined) => Promise<readonly string[]>
  /** Answers every open task and ends every run. */
  readonly answerAll: () => Promise<void>
  readonly creditRunsOut: () => Promise<void>
  readonly close: () => Promise<void>
}

/** A test environment for nights. */
export async function openNights(): Promise<NightTable> {
  const database = await freshDatabase()
  const { db } = database
  const folder = mkdtempSync(join(tmpdir(), 'querymill-nights-'))
  const file = join(folder, 'words.csv')
  writeFileSync(file, 'query\nred shoes\nblue shoes\n')
  const queued: number[] = []
  const told: string[] = []
  const add = async (slices: readonly { run: number }[]) => {
    for (const { run } of slices) queued.push(run)
  }
  return {
    db,
    file,
    queued,
    told,
    tickAt: (time, ...schedules) =>
      tick(
        {
          db,
          chooseQueries: decideByName,
          supplier,
          maxAgeMs: 0,
          queue: async () => ({ add }),
          report: (line) => told.push(line),
          now: async () => new Date(time),
        },
        { schedules, refusals: [], names: schedules.map(({ name }) => name) },
      ),
    nights: () => readNights(db),
    runs: () => readRuns(db),
    queriesOf: (run) => readQueries(db, run ?? 0),
    answerAll: () => answerAll(db),
    creditRunsOut: () => creditRunsOut(db),
    close: async () => {
      await database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function readNights(db: Database) {
  const { rows } = await sql<NightRow>`
    select schedule, run_date as date, outcome, run_id as run, note
    from nights
    order by due_at, schedule`.execute(db)
  return rows
}

async function readRuns(db: Database) {
  const { rows } = await sql<{ id: number; date: string; kind: string; state: string }>`
    select id, run_date as date, kind, state
    from runs
    order by id`.execute(db)
  return rows
}

async function readQueries(db: Database, run: number) {
  const { rows } = await sql<{ q: string }>`
    select q
    from tasks
    join queries on queries.id = query_id
    where run_id = ${run}
    order by q`.execute(db)
  return rows.map(({ q }) => q)
}

async function answerAll(db: Database): Promise<void> {
  await sql`
    update tasks
    set state = 'answered', finished_at = now()
    where state = 'open'`.execute(db)
  await sql`update slices set done_at = now()`.execute(db)
  await sql`update runs set state = 'done', finished_at = now() where state = 'open'`.execute(db)
}

async function creditRunsOut(db: Database): Promise<void> {
  await sql`
    with account as (
      insert into accounts (name, kind)
      values (${supplier.account}, ${supplier.origin})
      returning id
    )
    insert into stops (account_id, reason)
    select id, 'credit_floor' from account`.execute(db)
}
