// The one list of the tables that hold what answers say, for all that archives, forgets or checks them.

/** Tables with a row for each thing that an answer says, by its `search_id`; bodies lie in `raw_answers` by `call_id`. */
export const factTables = [
  'organic_results',
  'search_entities',
  'search_clusters',
  'search_related_searches',
  'search_features',
] as const

/** Tables of things that answers name, in the order in which they are written, each with the columns that name its rows. */
export const dictionaries = {
  domains: [
    ['organic_results', 'domain_id'],
    ['search_features', 'domain_id'],
    ['pages', 'domain_id'],
  ],
  pages: [
    ['organic_results', 'page_id'],
    ['search_features', 'page_id'],
  ],
  entities: [['search_entities', 'entity_id']],
  clusters: [['search_clusters', 'cluster_id']],
  related_searches: [['search_related_searches', 'related_search_id']],
} as const

export type DictionaryTable = keyof typeof dictionaries

export const dictionaryTables = Object.keys(dictionaries) as DictionaryTable[]
