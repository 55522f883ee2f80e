// Finds and deletes contents of answers: the rows, and dictionary entries referenced only by them.

import type { Database } from '../../base/database/database.ts'
import {
  type Compilable,
  type RawBuilder,
  sql,
  type Transaction,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { type DictionaryTable, factTables } from '../../base/database/facts.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { pause } from '../../base/waiting.ts'

/** A host including all of its subdomains, in all spellings. */
export interface DomainName {
  readonly spellings: readonly string[]
}

function oneOf(words: readonly string[]): string {
  const plain = words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&'))
  return `(?:${plain.join('|')})`
}

/** Pattern for typed words; they must stand alone. */
export function wordPattern(words: readonly string[]): string {
  return `(?<![[:alnum:]])${oneOf(words)}(?![[:alnum:]])`
}

/** Pattern for a domain: any subdomain before it, and no further label after it. */
export function domainPattern({ spellings }: DomainName): string {
  return `(?<![[:alnum:]-])${nameAndEnd(spellings)}`
}

function nameAndEnd(spellings: readonly string[]): string {
  return `${oneOf(spellings)}(?![[:alnum:]-]|\\.[[:alnum:]])`
}

/**
 * True for a body that contains the domain. In JSON strings, a preceding letter may be the end of an escape sequence.
 */
export function inBody(name: DomainName): RawBuilder<boolean> {
  const afterEscape = String.raw`(?<=\\\\(?:[nrtbf]|u[0-9a-f]{4}))${nameAndEnd(name.spellings)}`
  const bytes = name.spellings
    // `encode` writes non-ASCII bytes as numbers.
    .filter((word) => /[^ -~]/.test(word))
    .map((word) => sql<boolean>`position(convert_to(${word}, 'UTF8') in body) > 0`)
  const text = sql<boolean>`encode(body, 'escape') ~* ${`${domainPattern(name)}|${afterEscape}`}`
  return sql<boolean>`(${sql.join([text, ...bytes], sql` or `)})`
}

/** Column of each dictionary that may contain a domain. */
const spelled: Readonly<Record<DictionaryTable, RawBuilder<string>>> = {
  domains: sql`host`,
  pages: sql`url`,
  entities: sql`name`,
  clusters: sql`label`,
  related_searches: sql`q`,
}

/** Records all pages, hosts, entities, topics and related queries that contain the domain. */
export async function noteDomain(db: Database, name: DomainName): Promise<void> {
  const pattern = domainPattern(name)
  for (const [kind, text] of Object.entries(spelled)) {
    await sql`
      insert into forgetting_words (kind, id)
      select ${kind}, id from ${sql.table(kind)} where ${text} ~* ${pattern}
      on conflict do nothing`.execute(db)
  }
  await db
    .insertInto('forgetting_words')
    .columns(['kind', 'id'])
    .expression((eb) =>
      eb
        .selectFrom('pages')
        .innerJoin('forgetting_words as w', 'w.id', 'pages.domain_id')
        .where('w.kind', '=', 'domains')
        .select([eb.val('pages').as('kind'), 'pages.id']),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Records the related query with the same text. */
export async function noteRelated(db: Database, q: string): Promise<void> {
  await sql`
    insert into forgetting_words (kind, id)
    select 'related_searches', id from related_searches where lower(q) = lower(${q}::text)
    on conflict do nothing`.execute(db)
}

function noted(kind: DictionaryTable, table: string, column: string): RawBuilder<boolean> {
  return sql<boolean>`
    exists (select from forgetting_words w where w.kind = ${kind} and w.id = ${sql.ref(`${table}.${column}`)})`
}

/** True for a result or feature row that refers to a recorded page or domain. */
export function leads(table: 'organic_results' | 'search_features'): RawBuilder<boolean> {
  return sql<boolean>`(${noted('pages', table, 'page_id')} or ${noted('domains', table, 'domain_id')})`
}

/** True for an answer's row that contains the name in its own text or refers to it. */
export const naming = {
  organic_results: (pattern: string) => sql<boolean>`(
    ${leads('organic_results')} or concat_ws(' ', title, snippet, extra::text, as_given::text) ~* ${pattern})`,
  search_features: (pattern: string) => sql<boolean>`(
    ${leads('search_features')} or concat_ws(' ', text, extra::text) ~* ${pattern})`,
  searches: (pattern: string) =>
    sql<boolean>`concat_ws(' ', extra::text, as_given::text) ~* ${pattern}`,
}

/** True for an answer's row that only refers to a recorded entry. */
export const members: Readonly<Record<string, RawBuilder<boolean>>> = {
  search_entities: noted('entities', 'search_entities', 'entity_id'),
  search_clusters: noted('clusters', 'search_clusters', 'cluster_id'),
  search_related_searches: noted(
    'related_searches',
    'search_related_searches',
    'related_search_id',
  ),
}

/** Counts the rows that would be cleared; null: only those that refer to recorded entries. */
export async function countNoted(db: Database, name: DomainName | null): Promise<DeletedRows> {
  const facts = name === null ? {} : factsNaming(domainPattern(name))
  const places = Object.entries({ ...facts, ...members })
  const emptied = places.map(([table, where]) => {
    const id = table === 'searches' ? sql`id` : sql`search_id`
    return sql`select ${id} from ${sql.table(table)} where ${where}`
  })
  const held = name === null ? sql<boolean>`false` : inBody(name)
  const counts = places.map(
    ([table, where]) =>
      sql`select ${table} as name, count(*) as rows from ${sql.table(table)} where ${where}`,
  )
  const { rows } = await sql<{ name: string; rows: number }>`
    ${sql.join(counts, sql` union all `)}
    union all
    select 'raw_answers', count(*)
    from raw_answers
    where ${held} or call_id in (${sql.join(emptied, sql` union `)})
    union all
    select kind, count(*) from forgetting_words where kind = any(${Object.keys(spelled)}::text[]) group by kind`.execute(
    db,
  )
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

function factsNaming(pattern: string): Readonly<Record<string, RawBuilder<boolean>>> {
  return Object.fromEntries(Object.entries(naming).map(([table, of]) => [table, of(pattern)]))
}

/** Tables with rows about an answer, deleted with it. */
export const tablesOfAnswers = [...factTables, 'quarantine', 'trust_marks'] as const

/** Deletes answers with their bodies. Dictionary entries they refer to are recorded, to be deleted once unused. */
export async function removeAnswers(
  trx: Transaction<DB>,
  answers: readonly number[],
): Promise<DeletedRows> {
  await noteWords(trx, answers)
  await trx
    .deleteFrom('seen_pages')
    .using('organic_results as o')
    .innerJoin('searches as s', 's.id', 'o.search_id')
    .whereRef('seen_pages.page_id', '=', 'o.page_id')
    .whereRef('seen_pages.query_id', '=', 's.query_id')
    .where((eb) => eb('o.search_id', '=', eb.fn.any(eb.val(answers))))
    .execute()
  const gone: Record<string, number> = {}
  for (const table of tablesOfAnswers) {
    gone[table] = await touched(
      trx,
      trx.deleteFrom(table).where((eb) => eb('search_id', '=', eb.fn.any(eb.val(answers)))),
    )
  }
  gone['raw_answers'] = await touched(
    trx,
    trx.deleteFrom('raw_answers').where((eb) => eb('call_id', '=', eb.fn.any(eb.val(answers)))),
  )
  gone['searches'] = await touched(
    trx,
    trx.deleteFrom('searches').where((eb) => eb('id', '=', eb.fn.any(eb.val(answers)))),
  )
  return gone
}

/** Records the entries these answers refer to, in the order of ids, like every writer of dictionaries. */
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

/** Number of rows deleted or cleared, by table. */
export type DeletedRows = Readonly<Record<string, number>>

/** Adds two counts. */
export function addRows(one: DeletedRows, other: DeletedRows): DeletedRows {
  const sum: Record<string, number> = { ...one }
  for (const [table, rows] of Object.entries(other)) sum[table] = (sum[table] ?? 0) + rows
  return sum
}

/** Number of rows affected by a statement. */
export async function tally(done: Promise<{ readonly numAffectedRows?: bigint }>): Promise<number> {
  return Number((await done).numAffectedRows ?? 0)
}

/** Runs a statement; returns the number of rows affected. */
export function touched(db: Database, statement: Compilable): Promise<number> {
  return tally(db.executeQuery(statement))
}

const waitMs = 250
/** Planning a large list takes several minutes; retries must outlast it. */
const mostTries = 1_200

/** Retries a batch that conflicted with another writer of the same rows, or with the planning of a list. */
export async function patiently<T>(change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change()
    } catch (error) {
      if (tries === mostTries || troubleOf(error) !== 'conflict') throw error
    }
    await pause(waitMs)
  }
}
