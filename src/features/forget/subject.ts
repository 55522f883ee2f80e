// Finds the subject of a forget, obstacles to forgetting it, and data that remains.

import { clockBefore } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { expressionBuilder } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import type { Query } from '../../base/query.ts'
import { dayMs } from '../../base/time/zone.ts'
import { wordPattern } from './naming.ts'

/** A list to be forgotten. */
export interface List {
  readonly id: number
  readonly name: string
}

/** A subject to forget. */
export type Forgettable =
  | { readonly kind: 'list'; readonly list: List }
  | { readonly kind: 'query'; readonly q: string; readonly ids: readonly string[] }

/** Finds a list by name, unless it was forgotten. */
export async function findLivingList(db: Database, name: string): Promise<List | null> {
  const living = db.selectFrom('lists').where('forgotten_at', 'is', null)
  return (await living.select(['id', 'name']).where('name', '=', name).executeTakeFirst()) ?? null
}

/** Queries that only this list contains or has bought. */
export function aloneIn(list: number) {
  const eb = expressionBuilder<DB>()
  const listed = eb.selectFrom('list_queries').select('query_id')
  const bought = eb
    .selectFrom('tasks as t')
    .innerJoin('runs as r', 'r.id', 't.run_id')
    .innerJoin('lists as l', 'l.id', 'r.list_id')
    .select('t.query_id')
  // Queries that a forgotten list left to other lists are deleted with the last of these lists.
  const others = bought.where('l.id', '<>', list).where('l.forgotten_at', 'is', null)
  return listed
    .where('list_id', '=', list)
    .union(bought.where('l.id', '=', list))
    .except(listed.where('list_id', '<>', list))
    .except(others)
}

/** Number of days with stored sums. */
export async function countDays(db: Database): Promise<number> {
  const { days } = await db
    .selectFrom('finished_days')
    .select((eb) => eb.fn.countAll<number>().as('days'))
    .where('made_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return days
}

/** Unfinished runs, calls whose answer may still arrive, and schedules that would read a list again. */
export type Blockers = Awaited<ReturnType<typeof readBlockers>>

/** Maximum delay of a late answer. A call, its storing and the server's grace period take far less time. */
const lateAnswersMs = 10 * 60_000

function runsInUse(db: Database) {
  return db.selectFrom('runs as r').where((eb) => {
    const open = eb.selectFrom('tasks as t').whereRef('t.run_id', '=', 'r.id')
    return eb.or([
      eb('r.state', 'in', ['planning', 'open']),
      eb.and([
        eb('r.state', '=', 'cancelled'),
        eb('r.finished_at', '>', clockBefore(dayMs)),
        eb.exists(open.where('t.state', '=', 'open')),
      ]),
    ])
  })
}

function pendingCalls(db: Database) {
  return db
    .selectFrom('calls as c')
    .leftJoin('tasks as t', 't.id', 'c.task_id')
    .where((eb) =>
      eb.or([
        eb('c.outcome', 'is', null),
        eb.and([
          eb('c.outcome', '=', 'unknown'),
          eb('c.washed_at', 'is', null),
          eb('c.unknown_at', '>', clockBefore(lateAnswersMs)),
        ]),
      ]),
    )
}

interface Ways {
  readonly runs: ReturnType<typeof runsInUse>
  readonly calls: ReturnType<typeof pendingCalls>
  readonly list: string
}

async function readBlockers(db: Database, { runs, calls, list }: Ways) {
  const schedules = db.selectFrom('schedules').where('list', '=', list).where('enabled', '=', true)
  const ids = runs.orderBy('r.id').select((eb) => eb.cast<number>('r.id', 'float8').as('id'))
  return db
    .selectNoFrom(({ fn }) => [
      fn<number[]>('array', [ids]).as('runs'),
      calls.select(fn.countAll<number>().as('n')).$asScalar().$notNull().as('calls'),
      fn<string[]>('array', [schedules.orderBy('name').select('name')]).as('schedules'),
    ])
    .executeTakeFirstOrThrow()
}

/** Finds obstacles to forgetting a list. */
export function blockersOfList(db: Database, { id, name }: List): Promise<Blockers> {
  const ofList = db.selectFrom('runs').where('list_id', '=', id).select('runs.id')
  return readBlockers(db, {
    runs: runsInUse(db).where('r.list_id', '=', id),
    calls: pendingCalls(db).where('t.run_id', 'in', ofList),
    list: name,
  })
}

/** Finds obstacles to forgetting queries: runs that contain them. */
export function blockersOfQueries(db: Database, ids: readonly string[]): Promise<Blockers> {
  return readBlockers(db, {
    runs: runsInUse(db).where((eb) =>
      eb.exists(
        eb
          .selectFrom('tasks as t')
          .whereRef('t.run_id', '=', 'r.id')
          .where('t.query_id', '=', eb.fn.any(eb.val(ids))),
      ),
    ),
    calls: pendingCalls(db).where((eb) => eb('c.query_id', '=', eb.fn.any(eb.val(ids)))),
    list: '',
  })
}

/** Finds the queries with the given text. */
export function findHeldQueries(db: Database, q: string) {
  return db
    .selectFrom('queries')
    .select(['id', 'q', 'location', 'hl', 'gl', 'num'])
    .select((eb) => eb.ref('device').$castTo<Query['device']>().as('device'))
    .where('q', '=', q)
    .orderBy('key')
    .execute()
}

/** Related data that remains when a list is forgotten: its queries in other lists, and lists named after it. */
export async function mentionsLeft(db: Database, { id, name }: List) {
  const shared = db
    .selectFrom('list_queries')
    .where('list_id', '=', id)
    .where('query_id', 'not in', aloneIn(id))
  const namesakes = db
    .selectFrom('lists')
    .where('id', '<>', id)
    .where('name', '~*', wordPattern(name))
  return db
    .selectNoFrom(({ fn }) => [
      shared.select(fn.countAll<number>().as('n')).$asScalar().$notNull().as('shared'),
      fn<string[]>('array', [namesakes.orderBy('name').select('name')]).as('namesakes'),
    ])
    .executeTakeFirstOrThrow()
}

/** Counts the leftovers of an interrupted forget. */
export async function countLeft(db: Database) {
  const rowsOf = (table: 'forgetting_queries' | 'forgetting_words') =>
    db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('n'))
      .$asScalar()
      .$notNull()
  return db
    .selectNoFrom([
      rowsOf('forgetting_queries').as('queries'),
      rowsOf('forgetting_words').as('words'),
    ])
    .executeTakeFirstOrThrow()
}
