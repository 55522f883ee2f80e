import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** A query that a search found. */
export interface FoundQuery {
  readonly id: string
  readonly q: string
  /** What tells it from others of the same text; empty: nothing. */
  readonly variant: string
  readonly lists: readonly string[] | null
  readonly fetchedAt: Date | null
}

/** Queries with a word in them, those that begin with it first; without a word the heaviest ones. */
export async function findQueries(
  db: Database,
  { word, most }: { readonly word: string | null; readonly most: number },
): Promise<readonly FoundQuery[]> {
  const { rows } = await sql<FoundQuery>`
    select
      chosen.id, chosen.q,
      analysis.variant(chosen.device, chosen.location, chosen.hl, chosen.gl, chosen.num) as variant,
      (
        select array_agg(lists.name order by lists.name)
        from list_queries
        join lists on lists.id = list_queries.list_id
        where list_queries.query_id = chosen.id
      ) as lists,
      (
        select max(fetched_at)
        from searches
        where searches.query_id = chosen.id
          and origin = any ((select analysis.origins())::text[])
      ) as "fetchedAt"
    from (
      select queries.*, coalesce(weights.weight, 0) as weight
      from queries
      left join analysis.latest_weights as weights on weights.query_id = queries.id
      -- Not "ilike": a percent sign is a character here, as it is in a query.
      where ${word}::text is null or strpos(lower(queries.q), lower(${word}::text)) > 0
      order by
        lower(queries.q) = lower(${word}::text) desc, starts_with(lower(queries.q), lower(${word}::text)) desc,
        weight desc, queries.q, queries.device, queries.id
      limit ${most}::integer
    ) as chosen
    order by
      lower(chosen.q) = lower(${word}::text) desc, starts_with(lower(chosen.q), lower(${word}::text)) desc,
      chosen.weight desc, chosen.q, chosen.device, chosen.id
  `.execute(db)
  return rows
}

/** What a query is asked as. */
export interface QueryFacts {
  readonly id: string
  readonly q: string
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
  readonly device: string | null
}

/** A query by its id; null: there is none. */
export async function readQueryFacts(db: Database, id: string): Promise<QueryFacts | null> {
  const { rows } = await sql<QueryFacts>`
    select id, q, location, hl, gl, num, device
    from queries
    where id = ${id}`.execute(db)
  return rows[0] ?? null
}

/** What a list says about a query. */
export interface SaidOfQuery {
  readonly listId: number
  readonly list: string
  readonly weight: number | null
  readonly priority: number
  readonly tags: readonly string[]
  readonly target: string | null
  /** The line as it stood in the list, where it was read as something else. */
  readonly given: string | null
  /** False: the last reading of the list did not find it. */
  readonly current: boolean
}

/** What lists say about a query, those that still hold it first. */
export async function readSaidOf(db: Database, query: string): Promise<readonly SaidOfQuery[]> {
  const { rows } = await sql<SaidOfQuery>`
    select
      lists.id as "listId", lists.name as list, weight, priority, tags, target_url as target, given,
      list_queries.last_seen = (
        select max(others.last_seen)
        from list_queries as others
        where others.list_id = lists.id
      ) as current
    from list_queries
    join lists on lists.id = list_queries.list_id
    where query_id = ${query}
    order by current desc, lists.name`.execute(db)
  return rows
}
