// Finds the subject of a forget command, the obstacles to deleting its data, and the data that remains.

import { clockBefore } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import {
  type AnyColumn,
  countOf,
  type Expression,
  expressionBuilder,
  sql,
  type SqlBool,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import type { Query } from '../../base/query.ts'
import { dayMs } from '../../base/time/zone.ts'

export interface List {
  readonly id: number
  readonly name: string
}

export type Forgettable =
  | { readonly kind: 'list'; readonly list: List }
  | { readonly kind: 'query'; readonly q: string; readonly ids: readonly string[] }

/** True if the column contains one of the given values. The list of values may be empty. */
export function oneOf(
  column: AnyColumn<DB, keyof DB> | `${string}.${AnyColumn<DB, keyof DB>}`,
  values: readonly (string | number)[],
): Expression<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} = any(${values})`
}

export function relatedTo(q: string) {
  return expressionBuilder<DB>()
    .selectFrom('related_searches')
    .where((eb) => eb(eb.fn('lower', ['q']), '=', eb.fn('lower', [eb.val(q)])))
    .select('related_searches.id')
}

export async function findLivingList(db: Database, name: string): Promise<List | null> {
  const living = db.selectFrom('lists').where('forgotten_at', 'is', null)
  return (await living.select(['id', 'name']).where('name', '=', name).executeTakeFirst()) ?? null
}

/** Selects the queries that this list contains or has bought, and that no other list contains or has bought. */
export function aloneIn(list: number) {
  const eb = expressionBuilder<DB>()
  const listed = eb.selectFrom('list_queries').select('query_id')
  const bought = eb
    .selectFrom('tasks as t')
    .innerJoin('runs as r', 'r.id', 't.run_id')
    .innerJoin('lists as l', 'l.id', 'r.list_id')
    .select('t.query_id')
  // A query that a forgotten list shared with other lists is deleted with the last of those lists.
  const others = bought.where('l.id', '<>', list).where('l.forgotten_at', 'is', null)
  return listed
    .where('list_id', '=', list)
    .union(bought.where('l.id', '=', list))
    .except(listed.where('list_id', '<>', list))
    .except(others)
}

/** Obstacles: unfinished runs, calls whose answer may still arrive, and schedules that would read a list again. */
export type Blockers = Awaited<ReturnType<typeof readBlockers>>

/** Longest wait for a late answer. The call, the server's grace period and the database write take far less time. */
const lateAnswersMs = 10 * 60_000

/** Finds the runs and calls (for a list, also the schedules) that prevent a subject from being forgotten. */
export async function readBlockers(db: Database, subject: Forgettable) {
  const all = db.selectFrom('runs as r').where((eb) => {
    const tasks = eb.selectFrom('tasks as t').whereRef('t.run_id', '=', 'r.id')
    const cancelled = [
      eb('r.state', '=', 'cancelled'),
      eb('r.finished_at', '>', clockBefore(dayMs)),
      eb.exists(tasks.where('t.state', '=', 'open')),
    ]
    return eb.or([eb('r.state', 'in', ['planning', 'open']), eb.and(cancelled)])
  })
  const pending = db
    .selectFrom('calls as c')
    .leftJoin('tasks as t', 't.id', 'c.task_id')
    .where((eb) => {
      const lost = [
        eb('c.outcome', '=', 'unknown'),
        eb('c.washed_at', 'is', null),
        eb('c.unknown_at', '>', clockBefore(lateAnswersMs)),
      ]
      return eb.or([eb('c.outcome', 'is', null), eb.and(lost)])
    })
  const [runs, calls, name] =
    subject.kind === 'list'
      ? [
          all.where('r.list_id', '=', subject.list.id),
          pending.where('t.run_id', 'in', (eb) =>
            eb.selectFrom('runs').where('list_id', '=', subject.list.id).select('runs.id'),
          ),
          subject.list.name,
        ]
      : [
          all.where((eb) => {
            const tasks = eb.selectFrom('tasks as t').whereRef('t.run_id', '=', 'r.id')
            return eb.exists(tasks.where(oneOf('t.query_id', subject.ids)))
          }),
          pending.where(oneOf('c.query_id', subject.ids)),
          '',
        ]
  const schedules = db.selectFrom('schedules').where('list', '=', name).where('enabled', '=', true)
  const ids = runs.orderBy('r.id').select((eb) => eb.cast<number>('r.id', 'float8').as('id'))
  return db
    .selectNoFrom(({ fn }) => [
      fn<number[]>('array', [ids]).as('runs'),
      calls.select(fn.countAll<number>().as('n')).$asScalar().$notNull().as('calls'),
      fn<string[]>('array', [schedules.orderBy('name').select('name')]).as('schedules'),
    ])
    .executeTakeFirstOrThrow()
}

export function findHeldQueries(db: Database, q: string) {
  return db
    .selectFrom('queries')
    .select(['id', 'q', 'location', 'hl', 'gl', 'num'])
    .select((eb) => eb.ref('device').$castTo<Query['device']>().as('device'))
    .where('q', '=', q)
    .orderBy('key')
    .execute()
}

/** Counts the queries that are kept when a list is forgotten, because other lists contain them. */
export function countShared(db: Database, { id }: List): Promise<number> {
  const listed = db.selectFrom('list_queries').where('list_id', '=', id)
  return countOf(db, listed.where('query_id', 'not in', aloneIn(id)))
}

export async function countLeft(db: Database) {
  return {
    queries: await countOf(db, db.selectFrom('forgetting_queries')),
    words: await countOf(db, db.selectFrom('forgetting_words')),
  }
}
