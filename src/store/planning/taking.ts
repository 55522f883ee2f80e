import { queryId, queryKey } from '../../shared/query.ts'
import { sql } from '../kysely.ts'
import type { Database, Transaction } from '../database.ts'
import { only } from '../statement.ts'
import { readUsed, type Expanding } from './expansions.ts'
import type { RelatedQuery } from './frontier.ts'
import { storeList } from './lists.ts'

/** Related searches to be taken into a list of their own. */
export interface Taking {
  /** Name of the list that takes. */
  readonly name: string
  /** The list that is expanded. */
  readonly source: number
  readonly origin: string
  readonly queries: readonly (RelatedQuery & { readonly priority: number })[]
  /** Queries that the list had taken when these were chosen. */
  readonly before: number
}

/** Takes them all or none; null: another program has taken some meanwhile, which the choice knew nothing of. */
export async function takeExpansions(db: Database, taking: Taking): Promise<number | null> {
  const { name, source, origin, queries, before } = taking
  return db.transaction().execute(async (trx) => {
    await lockExpansions(trx, name)
    const into = await storeList(trx, { list: name, source: null, reading: undefined })
    if ((await countTaken(trx, { into, origin })) !== before) return null
    await sql`
      with taken as materialized (
        select *
        from jsonb_to_recordset(${JSON.stringify(queries.map(rowOf))}::jsonb) as given (
          id uuid, key text, q text, location text, hl text, gl text, num integer, device text,
          priority smallint, round integer, from_query uuid, sources bigint, weight double precision
        )
        order by id
      ),
      asked as (
        insert into queries (id, key, q, location, hl, gl, num, device)
        select id, key, q, location, hl, gl, num, device
        from taken
        on conflict do nothing
      ),
      held as (
        insert into list_queries (list_id, query_id, priority)
        select ${into}::bigint, id, priority
        from taken
        on conflict (list_id, query_id) do update set priority = excluded.priority
      )
      insert into expansions (list_id, query_id, source_list_id, origin, round, from_query, sources, weight)
      select ${into}::bigint, id, ${source}::bigint, ${origin}::text, round, from_query, sources, weight
      from taken`.execute(trx)
    return into
  })
}

function rowOf(query: Taking['queries'][number]): object {
  const { from_q: _, ...row } = query
  const key = queryKey(query)
  return { ...row, id: queryId(key), key }
}

/** Whoever takes waits for whoever does so at the same time. */
async function lockExpansions(trx: Transaction, name: string): Promise<void> {
  const lock = `querymill expansions ${name}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${lock}::text, 0))`.execute(trx)
}

async function countTaken(trx: Transaction, { into, origin }: Expanding): Promise<number> {
  const { rows } = await sql<{ taken: number }>`
    select count(*) as taken
    from expansions
    where list_id = ${into}
      and origin = ${origin}`.execute(trx)
  return only(rows).taken
}

/**
 * Makes those that are in no run yet, and those that were never asked, the newest reading of the list, from which a run is
 * planned. A call tells it from what was asked and failed.
 */
export async function readyUnasked(db: Database, { into, origin }: Expanding): Promise<void> {
  await sql`
    with unasked as (
      update expansions
      set run_id = null
      where list_id = ${into}
        and origin = ${origin}
        and (run_id is null or exists (
          select
          from tasks
          where tasks.run_id = expansions.run_id
            and tasks.query_id = expansions.query_id
            and tasks.state in ('unaffordable', 'cancelled')
        ))
      returning query_id
    ),
    -- Read once; later than every reading before it, whatever the clock says.
    reading as materialized (
      select greatest(clock_timestamp(), max(last_seen) + interval '1 microsecond') as at
      from list_queries
      where list_id = ${into}
    )
    update list_queries
    set last_seen = reading.at
    from unasked, reading
    where list_queries.list_id = ${into}
      and list_queries.query_id = unasked.query_id`.execute(db)
}

/**
 * Leaves the open run of a list, of which there is one at most, no more than what its expansion may still use; gives its
 * budget where that is less than it was. Its row is locked, so that nothing is bought between the looking and the writing.
 */
export async function lowerBudget(
  db: Database,
  expanding: Expanding,
  credits: number,
): Promise<number | null> {
  const { into } = expanding
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: number; most: number | null; gone: number }>`
      select id, budget as most, spent + reserved as gone
      from runs
      where list_id = ${into}
        and kind = 'manual'
        and state in ('planning', 'open')
      for no key update`.execute(trx)
    const [open] = rows
    if (open === undefined) return null
    const budget = open.gone + Math.max(0, credits - (await readUsed(trx, expanding)))
    if (open.most !== null && open.most <= budget) return null
    await trx.updateTable('runs').set({ budget }).where('id', '=', open.id).execute()
    return budget
  })
}

/** Something else planned the same queries, or changed them meanwhile: this plan is undone. */
export class TakenElsewhere extends Error {}

/**
 * Notes the run that a plan made of what was unasked, within its transaction. Runs before it may use no more than they did:
 * together they never have more than what is left for this one beside it.
 */
export async function recordRun(
  trx: Transaction,
  run: number,
  { into, origin }: Expanding,
): Promise<void> {
  const linked = await sql`
    update expansions
    set run_id = ${run}
    where list_id = ${into}
      and origin = ${origin}
      and run_id is null`.execute(trx)
  const { rows } = await sql<{ tasks: number }>`
    select count(*) as tasks
    from tasks
    where run_id = ${run}`.execute(trx)
  if (Number(linked.numAffectedRows ?? 0) !== only(rows).tasks) throw new TakenElsewhere()
  await sql`
    update runs
    set budget = spent + reserved
    where list_id = ${into}
      and id <> ${run}
      and kind = 'manual'
      and state in ('done', 'cancelled')
      and budget > spent + reserved`.execute(trx)
  // All that was ever taken is in the list, not the newest of it alone.
  await sql`
    update list_queries
    set last_seen = newest.last_seen
    from (
      select max(last_seen) as last_seen
      from list_queries
      where list_id = ${into}
    ) as newest
    where list_id = ${into}
      and list_queries.last_seen < newest.last_seen
      and exists (
        select
        from expansions
        where expansions.list_id = list_queries.list_id
          and expansions.query_id = list_queries.query_id
      )`.execute(trx)
}
