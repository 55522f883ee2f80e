import type { Query } from '../../shared/query.ts'
import { sql } from '../kysely.ts'
import type { Transaction } from '../database.ts'
import { prepareReading } from '../analysis/reading.ts'
import { only } from '../statement.ts'

/** Whose answers are asked for what they call related. */
export interface FrontierSources {
  /** The list that is expanded. */
  readonly list: number
  /** The list that takes; null: it is not there yet. */
  readonly into: number | null
  /** 0 is the list itself, 1 what was taken first; answers of these rounds name what is to be taken. */
  readonly from: number
  readonly until: number
  readonly origin: string
  readonly api: string
}

/** A related search that no query of ours asks, in the words of one. */
export interface RelatedQuery extends Query {
  readonly round: number
  readonly from_query: string
  readonly from_q: string
  readonly sources: number
  readonly weight: number
}

/** What there is to choose from. */
export interface Frontier {
  /** Queries whose newest answers were asked. */
  readonly answered: number
  readonly candidates: number
}

/**
 * Puts all candidates into temporary tables, the most promising first, until the transaction ends. A related search is
 * asked as its source was: in the same language, country and place, for the same device and number of results.
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

/** The queries whose answers are asked, each with its newest one and what it counts. */
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

/** What these answers name, as queries are written: each text is looked at once, however many name it. */
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

/** The texts that no query of ours asks there, by how many and how weighty queries name them. */
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

/** The candidates of the transaction in their order. */
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
