// Database statements for the rounds of an expansion and for candidate related searches.
import type { Database, Transaction } from '../../base/database/database.ts'
import { countOf, sql } from '../../base/database/kysely.ts'
import { lockName } from '../../base/database/lock.ts'
import { only, readRows, statement } from '../../base/database/sql-file.ts'
import { prepareReading } from '../../base/database/views.ts'
import { type Query, queryId, queryKey } from '../../base/query.ts'
import { storeList } from '../../core/enqueue/order.ts'

/** Target list of an expansion, with the origin of the answers used. */
interface Expanding {
  /** Id of the target list; 0 if it does not exist yet. */
  readonly into: number
  readonly origin: string
}

export type Round = Awaited<ReturnType<typeof readRounds>>[number]

export async function readRounds(db: Database, { into, origin }: Expanding) {
  return db
    .selectFrom('expansions')
    .leftJoin('tasks', (join) =>
      join
        .onRef('tasks.run_id', '=', 'expansions.run_id')
        .onRef('tasks.query_id', '=', 'expansions.query_id'),
    )
    .select(({ fn }) => [
      'expansions.round',
      fn.countAll<number>().as('queries'),
      // Queries that were added but do not belong to a run yet.
      fn.countAll<number>().filterWhere('expansions.run_id', 'is', null).as('unplanned'),
      fn.countAll<number>().filterWhere('tasks.state', '=', 'open').as('open'),
      // Queries that were never bought, because the budget was used up or the run was cancelled.
      fn
        .countAll<number>()
        .filterWhere('tasks.state', 'in', ['unaffordable', 'cancelled'])
        .as('unasked'),
    ])
    .where('expansions.list_id', '=', into)
    .where('expansions.origin', '=', origin)
    .groupBy('expansions.round')
    .orderBy('expansions.round')
    .execute()
}

/** Credits that the list's runs have used or reserved. If a call's cost is unknown, its reserved credits count. */
export async function readUsed(db: Database, { into, origin }: Expanding): Promise<number> {
  const { used } = await db
    .selectFrom('runs')
    .innerJoin('tasks', 'tasks.run_id', 'runs.id')
    .innerJoin('calls', 'calls.task_id', 'tasks.id')
    .innerJoin('accounts', 'accounts.id', 'calls.account_id')
    .select((eb) => {
      const credits = eb
        .case()
        .when('calls.outcome', '=', 'settled')
        .then(eb.fn.coalesce('calls.credits_used', eb.lit(0)))
        .when('calls.outcome', '=', 'unsent')
        .then(eb.lit(0))
        .else(eb.ref('calls.credits_reserved'))
        .end()
      return eb.fn.coalesce(eb.fn.sum<number>(credits), eb.lit(0)).as('used')
    })
    .where('runs.list_id', '=', into)
    .where('accounts.kind', '=', origin)
    .executeTakeFirstOrThrow()
  return used
}

export async function readOpenRuns(db: Database, into: number): Promise<readonly number[]> {
  const open = await db
    .selectFrom('runs')
    .select('id')
    .where('list_id', '=', into)
    .where('state', 'in', ['planning', 'open'])
    .orderBy('id')
    .execute()
  return open.map(({ id }) => id)
}

export async function readHeld(db: Database, list: number): Promise<readonly Query[]> {
  return db
    .selectFrom('list_queries')
    .innerJoin('queries', 'queries.id', 'list_queries.query_id')
    .select(['queries.q', 'queries.location', 'queries.hl', 'queries.gl', 'queries.num'])
    .select((eb) => eb.ref('queries.device').$castTo<Query['device']>().as('device'))
    .distinct()
    .where('list_queries.list_id', '=', list)
    .execute()
}

/** Reads the name of the list that was expanded into the given list; null if there is no such list. */
export async function expandedFrom(db: Database, list: number): Promise<string | null> {
  const source = await db
    .selectFrom('expansions')
    .innerJoin('lists', 'lists.id', 'expansions.source_list_id')
    .select('lists.name')
    .where('expansions.list_id', '=', list)
    .limit(1)
    .executeTakeFirst()
  return source?.name ?? null
}

/** Adds all selected related searches, or returns null if another process has added queries since the selection. */
export async function takeExpansions(
  db: Database,
  expansion: { name: string; list: number; origin: string; rounds: readonly Round[] },
  queries: readonly (RelatedQuery & { readonly priority: number })[],
): Promise<number | null> {
  const { name, list: source, origin, rounds } = expansion
  const before = rounds.reduce((sum, one) => sum + one.queries, 0)
  return db.transaction().execute(async (trx) => {
    // Only one process at a time may expand a list.
    await lockName(trx, `querymill expansions ${name}`)
    const into = await storeList(trx, { list: name, source: null, reading: undefined })
    const taken = trx.selectFrom('expansions').where('list_id', '=', into)
    if ((await countOf(trx, taken.where('origin', '=', origin))) !== before) return null
    const rows = queries.map((one) => {
      const { from_q: _, ...query } = one
      const key = queryKey(query)
      return { ...query, id: queryId(key), key }
    })
    const parameters = { queries: JSON.stringify(rows), into, source, origin }
    await trx.executeQuery(statement('take_expansions', parameters))
    return into
  })
}

/** Lowers the budget of the list's only open run to the remaining credits. Returns the budget if it changed. */
export async function lowerBudget(db: Database, expanding: Expanding, credits: number) {
  const { into } = expanding
  return db.transaction().execute(async (trx) => {
    // The run's row is locked, so that no query is bought between reading and writing.
    const open = await trx
      .selectFrom('runs')
      .select(['id', 'budget as most', 'budget_used as gone'])
      .where('list_id', '=', into)
      .where('kind', '=', 'manual')
      .where('state', 'in', ['planning', 'open'])
      .forNoKeyUpdate()
      .executeTakeFirst()
    if (open === undefined) return null
    const budget = open.gone + Math.max(0, credits - (await readUsed(trx, expanding)))
    if (open.most !== null && open.most <= budget) return null
    await trx.updateTable('runs').set({ budget }).where('id', '=', open.id).execute()
    return budget
  })
}

/** Thrown if another process has planned or changed the same queries in the meantime. */
export class TakenElsewhere extends Error {}

/**
 * Links queries without a run to the run that is being planned. Reduces the budgets of earlier runs to the
 * credits that they have used, so that all runs together never exceed the expansion's credits.
 */
export async function recordRun(trx: Transaction, run: number, { into, origin }: Expanding) {
  const linked = await trx
    .updateTable('expansions')
    .set({ run_id: run })
    .where('list_id', '=', into)
    .where('origin', '=', origin)
    .where('run_id', 'is', null)
    .executeTakeFirstOrThrow()
  const tasks = await countOf(trx, trx.selectFrom('tasks').where('run_id', '=', run))
  if (Number(linked.numUpdatedRows) !== tasks) throw new TakenElsewhere()
  await trx
    .updateTable('runs')
    .set((eb) => ({ budget: eb.ref('budget_used') }))
    .where('list_id', '=', into)
    .where('id', '<>', run)
    .where('kind', '=', 'manual')
    .where('state', 'in', ['done', 'cancelled'])
    .whereRef('budget', '>', 'budget_used')
    .execute()
  // Restores all queries that were ever added to the list, not only the newest queries.
  await trx
    .updateTable('list_queries')
    .from((eb) =>
      eb
        .selectFrom('list_queries')
        .select(({ fn }) => fn.max('last_seen').as('last_seen'))
        .where('list_id', '=', into)
        .as('newest'),
    )
    .set((eb) => ({ last_seen: eb.ref('newest.last_seen') }))
    .where('list_queries.list_id', '=', into)
    .whereRef('list_queries.last_seen', '<', 'newest.last_seen')
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('expansions')
          .select('expansions.query_id')
          .whereRef('expansions.list_id', '=', 'list_queries.list_id')
          .whereRef('expansions.query_id', '=', 'list_queries.query_id'),
      ),
    )
    .execute()
}

export interface RoundYield {
  readonly round: number
  readonly queries: number
  readonly open: number
  readonly answers: number
  readonly failed: number
  readonly unaffordable: number
  readonly credits_used: number
  readonly new_pages: number
  readonly new_domains: number
  readonly new_pages_per_answer: number | null
  readonly new_domains_per_answer: number | null
  readonly new_pages_per_credit: number | null
  readonly new_domains_per_credit: number | null
}

export async function readRoundYields(
  db: Database,
  { list, origin }: { readonly list: string; readonly origin: string },
): Promise<readonly RoundYield[]> {
  return db.transaction().execute(async (trx) => {
    await prepareReading(trx, { origins: origin })
    return readRows<RoundYield>(trx, 'read_expansion_rounds', { list })
  })
}

export interface FrontierSources {
  readonly list: number
  /** Id of the target list; 0 if it does not exist yet. */
  readonly into: number
  /** First and last round whose answers are used. Round 0 is the list itself. Round 1 added the first queries. */
  readonly from: number
  readonly until: number
  readonly origin: string
  readonly api: string
}

/** A query for a related search that the lists do not contain yet. */
export interface RelatedQuery extends Query {
  readonly round: number
  readonly from_query: string
  readonly from_q: string
  readonly sources: number
  readonly weight: number
}

export interface Frontier {
  /** Number of queries whose newest answers were used. */
  readonly answered: number
  readonly candidates: number
}

/** Stores all candidates in temporary tables, most promising first, with the parameters of their source queries. */
export async function rankFrontier(trx: Transaction, sources: FrontierSources): Promise<Frontier> {
  await prepareReading(trx, { origins: sources.origin })
  // The first table holds the source queries, each with its newest answer and its weight.
  await trx.executeQuery(statement('gather_frontier_sources', { ...sources }))
  await sql`analyze pg_temp.frontier_sources`.execute(trx)
  // The second table holds the distinct related searches of these answers, normalized like queries.
  await trx.executeQuery(statement('gather_frontier_texts', {}))
  await sql`analyze pg_temp.frontier_texts (id)`.execute(trx)
  // The last table holds the new related searches, ordered by the number and weight of their source queries.
  await trx.executeQuery(statement('rank_frontier', {}))
  return only(await readRows<Frontier>(trx, 'count_frontier', {}))
}

const pageSize = 2000

export async function* readFrontier(trx: Transaction): AsyncGenerator<readonly RelatedQuery[]> {
  await sql`create index on pg_temp.frontier_ranked (place)`.execute(trx)
  for (let after = 0; ; after += pageSize) {
    const range = { after, until: after + pageSize }
    const rows = await readRows<RelatedQuery>(trx, 'read_frontier', range)
    if (rows.length === 0) return
    yield rows
  }
}
