import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { noDefaults } from '../../src/core/lists/options.ts'
import type { Desk, ListOrder } from '../../src/core/enqueue/staging.ts'
import { freshDatabase, type FreshDatabase } from './database.ts'

export interface CountedSlice {
  readonly slice: number
  readonly priority: number
  readonly tasks: number
  readonly open: boolean
}

/** A database and a folder of lists, for planning tests. */
export interface Office {
  readonly desk: Desk
  /** Writes a list and returns the order for planning it. */
  order(list: string, text: string, more?: Partial<ListOrder>): Promise<ListOrder>
  rows<T>(query: ReturnType<typeof sql<T>>): Promise<readonly T[]>
  /** Slices of a run in order, each with its number of tasks. */
  slicesOf(run: number): Promise<readonly CountedSlice[]>
  finish(run: number): Promise<void>
  close(): Promise<void>
}

export async function openOffice(): Promise<Office> {
  const database = await freshDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'lists-'))
  const supplier = { origin: 'sandbox', api: 'bundled', account: 'bundled' } as const
  return {
    desk: { db: database.db, supplier },
    order: (list, text, more = {}) => writeOrder(folder, { list, text, more }),
    rows: async (query) => (await query.execute(database.db)).rows,
    slicesOf: (run) => slicesOf(database, run),
    finish: (run) => finish(database, run),
    close: async () => {
      await database.close()
      await rm(folder, { recursive: true })
    },
  }
}

async function writeOrder(
  folder: string,
  { list, text, more }: { list: string; text: string; more: Partial<ListOrder> },
): Promise<ListOrder> {
  const path = join(folder, `${list}.csv`)
  await writeFile(path, text)
  return {
    list,
    from: { kind: 'file', path, shown: `${list}.csv` },
    reading: { matchTypes: 'keep', defaults: noDefaults },
    kind: 'manual',
    runDate: '2026-11-21',
    budget: undefined,
    maxAgeMs: 0,
    into: null,
    ...more,
  }
}

async function slicesOf({ db }: FreshDatabase, run: number): Promise<readonly CountedSlice[]> {
  const { rows } = await sql<CountedSlice>`
    select slices.slice, slices.priority, count(*) as tasks, slices.done_at is null as open
    from slices
    join tasks using (run_id, slice)
    where run_id = ${run}
    group by slices.run_id, slices.slice
    order by slices.slice`.execute(db)
  return rows
}

async function finish({ db }: FreshDatabase, run: number): Promise<void> {
  await sql`update runs set state = 'done', finished_at = now() where id = ${run}`.execute(db)
}
