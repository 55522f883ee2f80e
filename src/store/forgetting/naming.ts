import type { Database } from '../database.ts'
import { sql, type RawBuilder } from '../kysely.ts'
import type { WordTable } from './facts.ts'
import type { Gone } from './gone.ts'

/** A host, with every host below it, however it is spelled. */
export interface DomainName {
  readonly spellings: readonly string[]
}

function oneOf(words: readonly string[]): string {
  const plain = words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&'))
  return `(?:${plain.join('|')})`
}

/** Words of people as a pattern: they stand alone, whatever is around them. */
export function wordPattern(words: readonly string[]): string {
  return `(?<![[:alnum:]])${oneOf(words)}(?![[:alnum:]])`
}

/** A domain as a pattern: with whatever stands before its first dot, and no further label behind it. */
export function domainPattern({ spellings }: DomainName): string {
  return `(?<![[:alnum:]-])${nameAndEnd(spellings)}`
}

function nameAndEnd(spellings: readonly string[]): string {
  return `${oneOf(spellings)}(?![[:alnum:]-]|\\.[[:alnum:]])`
}

/** True for a body that holds it. Where texts stand as JSON, a letter before it may be the end of what a backslash begins. */
export function inBody(name: DomainName): RawBuilder<boolean> {
  const afterEscape = String.raw`(?<=\\\\(?:[nrtbf]|u[0-9a-f]{4}))${nameAndEnd(name.spellings)}`
  const bytes = name.spellings
    // What is not ASCII is spelled in numbers by `encode`.
    .filter((word) => /[^ -~]/.test(word))
    .map((word) => sql<boolean>`position(convert_to(${word}, 'UTF8') in body) > 0`)
  const text = sql<boolean>`encode(body, 'escape') ~* ${`${domainPattern(name)}|${afterEscape}`}`
  return sql<boolean>`(${sql.join([text, ...bytes], sql` or `)})`
}

/** What a domain may be called in each dictionary. */
const spelled: Readonly<Record<WordTable, RawBuilder<string>>> = {
  domains: sql`host`,
  pages: sql`url`,
  entities: sql`name`,
  clusters: sql`label`,
  related_searches: sql`q`,
}

/** Notes every address, host, entity, topic and related query that names it. */
export async function noteDomain(db: Database, name: DomainName): Promise<void> {
  const pattern = domainPattern(name)
  for (const [kind, text] of Object.entries(spelled)) {
    await sql`
      insert into forgetting_words (kind, id)
      select ${kind}, id from ${sql.table(kind)} where ${text} ~* ${pattern}
      on conflict do nothing`.execute(db)
  }
  await sql`
    insert into forgetting_words (kind, id)
    select 'pages', pages.id
    from pages
    join forgetting_words w on w.kind = 'domains' and w.id = pages.domain_id
    on conflict do nothing`.execute(db)
}

/** Notes the related query that asks for the same text. */
export async function noteRelated(db: Database, q: string): Promise<void> {
  await sql`
    insert into forgetting_words (kind, id)
    select 'related_searches', id from related_searches where lower(q) = lower(${q}::text)
    on conflict do nothing`.execute(db)
}

function noted(kind: WordTable, table: string, column: string): RawBuilder<boolean> {
  return sql<boolean>`
    exists (select from forgetting_words w where w.kind = ${kind} and w.id = ${sql.ref(`${table}.${column}`)})`
}

/** True for a row of results or features that leads to what was noted. */
export function leads(table: 'organic_results' | 'search_features'): RawBuilder<boolean> {
  return sql<boolean>`(${noted('pages', table, 'page_id')} or ${noted('domains', table, 'domain_id')})`
}

/** True for a row of an answer that has a text of its own and names it in any way. */
export const naming = {
  organic_results: (pattern: string) => sql<boolean>`(
    ${leads('organic_results')} or concat_ws(' ', title, snippet, extra::text, as_given::text) ~* ${pattern})`,
  search_features: (pattern: string) => sql<boolean>`(
    ${leads('search_features')} or concat_ws(' ', text, extra::text) ~* ${pattern})`,
  searches: (pattern: string) =>
    sql<boolean>`concat_ws(' ', extra::text, as_given::text) ~* ${pattern}`,
}

/** True for a row of an answer that only names something that was noted. */
export const members: Readonly<Record<string, RawBuilder<boolean>>> = {
  search_entities: noted('entities', 'search_entities', 'entity_id'),
  search_clusters: noted('clusters', 'search_clusters', 'cluster_id'),
  search_related_searches: noted(
    'related_searches',
    'search_related_searches',
    'related_search_id',
  ),
}

/** What would be emptied, counted where it was noted; null: only what names what was noted. */
export async function countNoted(db: Database, name: DomainName | null): Promise<Gone> {
  const facts = name === null ? {} : factsNaming(domainPattern(name))
  const places = Object.entries({ ...facts, ...members })
  const touched = places.map(([table, where]) => {
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
    where ${held} or call_id in (${sql.join(touched, sql` union `)})
    union all
    select kind, count(*) from forgetting_words where kind = any(${Object.keys(spelled)}::text[]) group by kind`.execute(
    db,
  )
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

function factsNaming(pattern: string): Readonly<Record<string, RawBuilder<boolean>>> {
  return Object.fromEntries(Object.entries(naming).map(([table, of]) => [table, of(pattern)]))
}
