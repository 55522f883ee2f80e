import { sql, type Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import { tally, type Gone } from './gone.ts'

/** Which rows of a dictionary rows of answers name: the tables of answers, with their columns that do. */
export const dictionaries = {
  pages: [
    ['organic_results', 'page_id'],
    ['search_features', 'page_id'],
  ],
  domains: [
    ['organic_results', 'domain_id'],
    ['search_features', 'domain_id'],
    ['pages', 'domain_id'],
  ],
  entities: [['search_entities', 'entity_id']],
  clusters: [['search_clusters', 'cluster_id']],
  related_searches: [['search_related_searches', 'related_search_id']],
} as const

/** A table of things that answers name. */
export type WordTable = keyof typeof dictionaries

const factTables = [
  'organic_results',
  'search_entities',
  'search_clusters',
  'search_related_searches',
  'search_features',
] as const

/**
 * Takes away all that answers say, with their bodies: the one place that knows where the facts of an answer lie. What they
 * named is noted, to go when nobody names it any more.
 */
export async function removeAnswers(
  trx: Transaction<DB>,
  answers: readonly number[],
): Promise<Gone> {
  const ids = sql`${answers}::bigint[]`
  await noteWords(trx, answers)
  await sql`
    delete from seen_pages
    using organic_results o
    join searches s on s.id = o.search_id
    where o.search_id = any(${ids})
      and seen_pages.page_id = o.page_id
      and seen_pages.query_id = s.query_id`.execute(trx)
  const gone: Record<string, number> = {}
  for (const table of factTables) {
    gone[table] = await tally(
      sql`delete from ${sql.table(table)} where search_id = any(${ids})`.execute(trx),
    )
  }
  gone['raw_answers'] = await tally(
    sql`delete from raw_answers where call_id = any(${ids})`.execute(trx),
  )
  gone['searches'] = await tally(sql`delete from searches where id = any(${ids})`.execute(trx))
  return gone
}

/** Notes what these answers name. In the order of ids, as every writer of dictionaries. */
async function noteWords(trx: Transaction<DB>, answers: readonly number[]): Promise<void> {
  const ids = sql`${answers}::bigint[]`
  await sql`
    insert into forgetting_words (kind, id)
    select distinct named.kind, named.id
    from (
      select page_id, domain_id from organic_results where search_id = any(${ids})
      union
      select page_id, domain_id from search_features where search_id = any(${ids})
    ) as places
    left join pages on pages.id = places.page_id
    cross join lateral (
      values ('pages', places.page_id), ('domains', places.domain_id), ('domains', pages.domain_id)
    ) as named (kind, id)
    where named.id is not null
    union
    select 'entities', entity_id from search_entities where search_id = any(${ids})
    union
    select 'clusters', cluster_id from search_clusters where search_id = any(${ids})
    union
    select 'related_searches', related_search_id from search_related_searches where search_id = any(${ids})
    on conflict do nothing`.execute(trx)
}
