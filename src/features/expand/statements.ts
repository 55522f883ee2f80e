// Statements of expansions: their rounds, and the candidate related searches.
import type { Database, Transaction } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import { prepareReading } from '../../base/database/views.ts'
import { type Query, queryId, queryKey } from '../../base/query.ts'
import { storeList } from '../../core/enqueue/order.ts'

/** A target list, and the origin of the answers used. */
export interface Expanding {
  readonly into: number
  readonly origin: string
}

/** Progress of a round. */
export interface Round {
  readonly round: number
  readonly queries: number
  /** Added, but not in any run yet. */
  readonly unplanned: number
  readonly open: number
  /** Never bought, because the budget was used up or the run was cancelled. */
  readonly unasked: number
}

/** Rounds of a list so far. */
export async function readRounds(
  db: Database,
  { into, origin }: Expanding,
): Promise<readonly Round[]> {
  const { rows } = await sql<Round>`
    select
      expansions.round,
      count(*) as queries,
      count(*) filter (where expansions.run_id is null) as unplanned,
      count(*) filter (where tasks.state = 'open') as open,
      count(*) filter (where tasks.state in ('unaffordable', 'cancelled')) as unasked
    from expansions
    left join tasks on tasks.run_id = expansions.run_id and tasks.query_id = expansions.query_id
    where expansions.list_id = ${into}
      and expansions.origin = ${origin}
    group by expansions.round
    order by expansions.round`.execute(db)
  return rows
}

/** Credits used or reserved by the list's runs, including the bound of each call with an unknown cost. */
export async function readUsed(db: Database, { into, origin }: Expanding): Promise<number> {
  const { rows } = await sql<{ used: number }>`
    select coalesce(sum(case
      when calls.outcome = 'settled' then coalesce(calls.credits_used, 0)
      when calls.outcome = 'unsent' then 0
      else calls.credits_reserved
    end), 0) as used
    from runs
    join tasks on tasks.run_id = runs.id
    join calls on calls.task_id = tasks.id
    join accounts on accounts.id = calls.account_id
    where runs.list_id = ${into}
      and accounts.kind = ${origin}`.execute(db)
  return only(rows).used
}

/** Unfinished runs with open tasks of the list. */
export async function readOpenRuns(db: Database, into: number): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    select id
    from runs
    where list_id = ${into}
      and state in ('planning', 'open')
    order by id`.execute(db)
  return rows.map(({ id }) => id)
}

/** Queries that are or were on these lists. */
export async function readHeld(db: Database, lists: readonly number[]): Promise<readonly Query[]> {
  const { rows } = await sql<Query>`
    select distinct queries.q, queries.location, queries.hl, queries.gl, queries.num, queries.device
    from list_queries
    join queries on queries.id = list_queries.query_id
    where list_queries.list_id = any(${[...lists]}::bigint[])`.execute(db)
  return rows
}

/** Name of the list that a list was expanded from; null: none. */
export async function expandedFrom(db: Database, list: number): Promise<string | null> {
  const { rows } = await sql<{ name: string }>`
    select lists.name
    from expansions
    join lists on lists.id = expansions.source_list_id
    where expansions.list_id = ${list}
    limit 1`.execute(db)
  return rows[0]?.name ?? null
}

/** Related searches to be added to a target list. */
interface SelectionOrder {
  /** Name of the target list. */
  readonly name: string
  /** Id of the list being expanded. */
  readonly source: number
  readonly origin: string
  readonly queries: readonly (RelatedQuery & { readonly priority: number })[]
  /** Number of queries the target list had when these were selected. */
  readonly before: number
}

/**
 * Adds all or none; null if another process has added some in the meantime, which the selection did not take into
 * account.
 */
export async function takeExpansions(db: Database, taking: SelectionOrder): Promise<number | null> {
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

function rowOf(query: SelectionOrder['queries'][number]): object {
  const { from_q: _, ...row } = query
  const key = queryKey(query)
  return { ...row, id: queryId(key), key }
}

/** Serialises expansions into one list. */
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
 * Makes unplanned and never-bought queries the current members of the list, from which a run is planned. Queries with a
 * call were bought and failed, so they are not included.
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
 * Limits the budget of the list's open run, of which there is at most one, to what its expansion may still use; returns
 * the new budget if it was lowered. The row is locked, so that nothing is bought between reading and writing.
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

/** Error if another process planned or changed the same queries in the meantime; this plan is rolled back. */
export class TakenElsewhere extends Error {}

/**
 * Records the run planned for these queries, within its transaction. Earlier runs are limited to what they have used,
 * so that together they never exceed the remaining credits.
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
  // The list contains all queries ever added, not only the newest.
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

/** Cost and yield of a round of an expansion. */
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

/** Rounds of an expanded list, from answers of an origin. */
export async function readRoundYields(
  db: Database,
  { list, origin }: { readonly list: string; readonly origin: string },
): Promise<readonly RoundYield[]> {
  return db.transaction().execute(async (trx) => {
    await prepareReading(trx, { origins: origin })
    const { rows } = await sql<RoundYield>`
      select
        round, queries, open, answers, failed, unaffordable, credits_used, new_pages, new_domains,
        new_pages_per_answer, new_domains_per_answer, new_pages_per_credit, new_domains_per_credit
      from analysis.expansion_rounds
      where list = ${list}
      order by round`.execute(trx)
    return rows
  })
}

/** A round of an expanded list, with its list. */
export interface FrontierRound extends Pick<
  RoundYield,
  'round' | 'answers' | 'credits_used' | 'new_pages' | 'new_domains'
> {
  readonly list: string
  readonly pages: number
  readonly domains: number
}

/** All answered rounds of all lists, from answers of the shown origins. */
export async function readFrontierRounds(db: Database): Promise<readonly FrontierRound[]> {
  const { rows } = await sql<FrontierRound>`
    select list, round, answers, credits_used, pages, new_pages, domains, new_domains
    from analysis.expansion_rounds
    where answers > 0
    order by list, round`.execute(db)
  return rows
}

/** Selects the answers whose related searches are candidates. */
export interface FrontierSources {
  /** Id of the list being expanded. */
  readonly list: number
  /** Id of the target list; null if it does not exist yet. */
  readonly into: number | null
  /** Rounds whose answers are used: 0 is the list itself, 1 the first added queries. */
  readonly from: number
  readonly until: number
  readonly origin: string
  readonly api: string
}

/** A related search that is not a query yet, as a query. */
export interface RelatedQuery extends Query {
  readonly round: number
  readonly from_query: string
  readonly from_q: string
  readonly sources: number
  readonly weight: number
}

/** Candidate related searches. */
export interface Frontier {
  /** Number of queries whose newest answers were used. */
  readonly answered: number
  readonly candidates: number
}

/**
 * Stores all candidates in temporary tables of the transaction, most promising first. A related search has the
 * parameters of its source query: language, country, place, device and number of results.
 */
export async function rankFrontier(trx: Transaction, sources: FrontierSources): Promise<Frontier> {
  await prepareReading(trx, { origins: sources.origin })
  await gatherSources(trx, sources)
  await gatherTexts(trx)
  await rankTexts(trx)
  const { rows } = await sql<Frontier>`
    select
      (select count(*) from pg_temp.frontier_sources) as answered,
      (select count(*) from pg_temp.frontier_ranked) as candidates`.execute(trx)
  return only(rows)
}

/** Collects the source queries, each with its newest answer and its weight. */
async function gatherSources(
  trx: Transaction,
  { list, into, from, until, origin, api }: FrontierSources,
): Promise<void> {
  await sql`
    create temporary table frontier_sources on commit drop as
    select
      sources.query_id, sources.round, sources.weight, latest.search_id,
      -- One number compares faster than five texts: what is asked besides the text.
      dense_rank() over (order by latest.location, latest.hl, latest.gl, latest.num, latest.device) as variant
    from (
      select query_id, 0 as round, coalesce(weight, 1) as weight
      from list_queries
      where list_id = ${list}::bigint
        and ${from}::integer = 0
        and last_seen = (select max(last_seen) from list_queries where list_id = ${list}::bigint)
      union all
      -- Several queries may have led to it: as a source it counts as one of them.
      select query_id, round, weight / sources
      from expansions
      where list_id = ${into}::bigint
        and origin = ${origin}::text
        and round between ${from}::integer and ${until}::integer
    ) as sources
    join analysis.latest on latest.query_id = sources.query_id
    where latest.api = ${api}::text`.execute(trx)
  await sql`analyze pg_temp.frontier_sources`.execute(trx)
}

/** Collects the distinct related searches of these answers, normalized like queries. */
async function gatherTexts(trx: Transaction): Promise<void> {
  await sql`
    create temporary table frontier_texts on commit drop as
    -- Compared byte by byte, which sorts several times faster than a language.
    select id, analysis.canonical(q) collate "C" as q
    from related_searches
    where id in (
      select named.related_search_id
      from pg_temp.frontier_sources as sources
      join search_related_searches as named on named.search_id = sources.search_id
    )`.execute(trx)
  await sql`analyze pg_temp.frontier_texts (id)`.execute(trx)
}

/** Ranks new related searches by the number and weight of the queries they are related to. */
async function rankTexts(trx: Transaction): Promise<void> {
  await sql`
    create temporary table frontier_ranked on commit drop as
    select
      row_number() over (order by named.weight desc, named.sources desc, named.q, named.from_query) as place,
      named.q, named.round, named.from_query, named.sources, named.weight
    from (
      select
        texts.q,
        min(texts.round) + 1 as round,
        (array_agg(texts.query_id order by texts.round, texts.weight desc, texts.query_id))[1] as from_query,
        count(*) as sources,
        sum(texts.weight) as weight
      from (
        -- An answer may name a text in several spellings: its query counts once.
        select distinct sources.query_id, sources.variant, sources.round, sources.weight, related.q
        from pg_temp.frontier_sources as sources
        join search_related_searches as named on named.search_id = sources.search_id
        join pg_temp.frontier_texts as related on related.id = named.related_search_id
        where related.q <> ''
      ) as texts
      group by texts.q, texts.variant
    ) as named
    join queries as source on source.id = named.from_query
    where not exists (
      select
      from queries as ours
      where ours.q = named.q
        and ours.location is not distinct from source.location
        and ours.hl is not distinct from source.hl
        and ours.gl is not distinct from source.gl
        and ours.device is not distinct from source.device
    )`.execute(trx)
}

const pageSize = 2000

/** Reads the transaction's candidates in order. */
export async function* readFrontier(trx: Transaction): AsyncGenerator<readonly RelatedQuery[]> {
  await sql`create index on pg_temp.frontier_ranked (place)`.execute(trx)
  for (let after = 0; ; after += pageSize) {
    const { rows } = await sql<RelatedQuery>`
      select
        ranked.q, source.location, source.hl, source.gl, source.num, source.device,
        ranked.round, ranked.from_query, source.q as from_q, ranked.sources, ranked.weight
      from pg_temp.frontier_ranked as ranked
      join queries as source on source.id = ranked.from_query
      where ranked.place > ${after}
        and ranked.place <= ${after + pageSize}
      order by ranked.place`.execute(trx)
    if (rows.length === 0) return
    yield rows
  }
}
