// Lists the tables with answer contents and daily sums, for code that archives, deletes or checks them.

import type { DB } from './schema.ts'

/** Tables with one row per item in an answer, keyed by `search_id`. Bodies are in `raw_answers`, keyed by `call_id`. */
export const factTables = [
  'organic_results',
  'search_entities',
  'search_clusters',
  'search_related_searches',
  'search_features',
] as const

/** Tables with sums for finished days, keyed by `finish_id`. */
export const sumTables = [
  'finished_labels',
  'finished_queries',
  'finished_shares',
  'finished_steps',
  'finished_stays',
  'finished_losses',
  'finished_answers',
  'finished_groups',
  'finished_related',
  'finished_costs',
  'finished_outcomes',
  'finished_keywords',
  'finished_keyword_days',
] as const

type Column = { [T in keyof DB]: readonly [table: T, column: keyof DB[T]] }[keyof DB]

/** Dictionary tables in insertion order, each with the columns that refer to its rows. */
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
} as const satisfies Record<string, readonly Column[]>

export type DictionaryTable = keyof typeof dictionaries

export const dictionaryTables = Object.keys(dictionaries) as DictionaryTable[]
