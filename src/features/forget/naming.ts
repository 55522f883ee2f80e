// Finds and deletes contents of answers: the rows, and dictionary entries referenced only by them.

import type { Database } from '../../base/database/database.ts'
import { type DictionaryTable, dictionaryTables, factTables } from '../../base/database/facts.ts'
import {
  type AliasableExpression,
  type Compilable,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type ReferenceExpression,
  sql,
  type SqlBool,
  type Transaction,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { statement } from '../../base/database/sql-file.ts'
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
export function inBody(name: DomainName): Expression<SqlBool> {
  const eb = expressionBuilder<DB, 'raw_answers'>()
  const afterEscape = String.raw`(?<=\\\\(?:[nrtbf]|u[0-9a-f]{4}))${nameAndEnd(name.spellings)}`
  const text = eb.fn<string>('encode', ['body', eb.val('escape')])
  const bytes = name.spellings
    // `encode` writes non-ASCII bytes as numbers.
    .filter((word) => /[^ -~]/.test(word))
    .map((word) => sql<boolean>`position(convert_to(${word}, 'UTF8') in body) > 0`)
  return eb.or([eb(text, '~*', `${domainPattern(name)}|${afterEscape}`), ...bytes])
}

/** True for a row with the pattern in one of these columns. */
export function mentions<T extends keyof DB>(
  eb: ExpressionBuilder<DB, T>,
  columns: readonly ReferenceExpression<DB, T>[],
  pattern: string,
): Expression<SqlBool> {
  return eb(eb.fn<string>('concat_ws', [eb.val(' '), ...columns]), '~*', pattern)
}

/** A column that becomes null where the condition holds. */
export function clearedIf<T>(condition: Expression<SqlBool>, column: Expression<T>) {
  return expressionBuilder<DB>().case().when(condition).then(null).else(column).end()
}

/** Records all pages, hosts, entities, topics and related queries that contain the domain. */
export async function noteDomain(db: Database, name: DomainName): Promise<void> {
  const pattern = domainPattern(name)
  await note(db, 'domains', db.selectFrom('domains').where('host', '~*', pattern).select('id'))
  await note(db, 'pages', db.selectFrom('pages').where('url', '~*', pattern).select('id'))
  await note(db, 'entities', db.selectFrom('entities').where('name', '~*', pattern).select('id'))
  await note(db, 'clusters', db.selectFrom('clusters').where('label', '~*', pattern).select('id'))
  const related = db.selectFrom('related_searches').where('q', '~*', pattern)
  await note(db, 'related_searches', related.select('id'))
  const hosted = db
    .selectFrom('pages')
    .innerJoin('forgetting_words as w', 'w.id', 'pages.domain_id')
    .where('w.kind', '=', 'domains')
  await note(db, 'pages', hosted.select('pages.id'))
}

/** Records the related query with the same text. */
export async function noteRelated(db: Database, q: string): Promise<void> {
  const same = db
    .selectFrom('related_searches')
    .where((eb) => eb(eb.fn('lower', ['q']), '=', eb.fn('lower', [eb.val(q)])))
  await note(db, 'related_searches', same.select('id'))
}

async function note(
  db: Database,
  kind: DictionaryTable,
  entries: AliasableExpression<{ id: string }>,
): Promise<void> {
  await db
    .insertInto('forgetting_words')
    .columns(['kind', 'id'])
    .expression((eb) => eb.selectFrom(entries.as('e')).select([eb.val(kind).as('kind'), 'e.id']))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

function noted(kind: DictionaryTable, id: Expression<string | null>): Expression<SqlBool> {
  const eb = expressionBuilder<DB>()
  return eb.exists(
    eb.selectFrom('forgetting_words as w').where('w.kind', '=', kind).where('w.id', '=', id),
  )
}

/** True for a result or feature row that refers to a recorded page or domain. */
export function leads(table: 'organic_results' | 'search_features'): Expression<SqlBool> {
  const eb = expressionBuilder<DB, typeof table>()
  const page = noted('pages', eb.ref(`${table}.page_id`))
  return eb.or([page, noted('domains', eb.ref(`${table}.domain_id`))])
}

/** True for an answer's row that contains the name in its own text or refers to it. */
export const naming = {
  organic_results: (pattern: string) => {
    const eb = expressionBuilder<DB, 'organic_results'>()
    const columns = ['title', 'snippet', 'extra', 'as_given'] as const
    return eb.or([leads('organic_results'), mentions(eb, columns, pattern)])
  },
  search_features: (pattern: string) => {
    const eb = expressionBuilder<DB, 'search_features'>()
    return eb.or([leads('search_features'), mentions(eb, ['text', 'extra'], pattern)])
  },
  searches: (pattern: string) =>
    mentions(expressionBuilder<DB, 'searches'>(), ['extra', 'as_given'], pattern),
}

/** Tables of rows that only refer to an entry. */
export const memberTables = [
  'search_entities',
  'search_clusters',
  'search_related_searches',
] as const

const member = expressionBuilder<DB, (typeof memberTables)[number]>()

/** True for an answer's row that only refers to a recorded entry. */
export const members = {
  search_entities: noted('entities', member.ref('search_entities.entity_id')),
  search_clusters: noted('clusters', member.ref('search_clusters.cluster_id')),
  search_related_searches: noted(
    'related_searches',
    member.ref('search_related_searches.related_search_id'),
  ),
}

/** Counts the rows that would be cleared; null: only those that refer to recorded entries. */
export async function countNoted(db: Database, name: DomainName | null): Promise<DeletedRows> {
  const found = [
    ...memberTables.map((table) => ({
      table,
      rows: db.selectFrom(table).where(members[table]).select('search_id'),
    })),
    ...(name === null ? [] : factsNaming(db, domainPattern(name))),
  ]
  const cleared = found.map(({ rows }) => db.selectFrom(rows.as('r')).select('r.search_id'))
  const bodies = db.selectFrom('raw_answers').where((eb) =>
    eb.or([
      name === null ? eb.lit(false) : inBody(name),
      eb(
        'call_id',
        'in',
        cleared.reduce((all, one) => all.union(one)),
      ),
    ]),
  )
  const words = db
    .selectFrom('forgetting_words')
    .where('kind', 'in', dictionaryTables)
    .groupBy('kind')
    .select((eb) => ['kind as name', eb.fn.countAll<number>().as('rows')])
  const counts = found.map(({ table, rows }) => countRows(table, rows))
  return readCounts(db, countRows('raw_answers', bodies), [...counts, words])
}

function factsNaming(db: Database, pattern: string) {
  const tables = ['organic_results', 'search_features'] as const
  const searches = db.selectFrom('searches').where(naming.searches(pattern))
  return [
    ...tables.map((table) => ({
      table,
      rows: db.selectFrom(table).where(naming[table](pattern)).select('search_id'),
    })),
    { table: 'searches', rows: searches.select('id as search_id') },
  ]
}

/** A count with the name of its table. */
export function countRows(name: string, rows: AliasableExpression<object>) {
  return expressionBuilder<DB>()
    .selectFrom(rows.as('r'))
    .select((eb) => [eb.val(name).as('name'), eb.fn.countAll<number>().as('rows')])
}

/** Reads several counts in one statement. */
export async function readCounts(
  db: Database,
  first: ReturnType<typeof countRows>,
  others: readonly Expression<{ name: string; rows: number }>[],
): Promise<DeletedRows> {
  const rows = await db
    .with('counts', () => first.unionAll(others))
    .selectFrom('counts')
    .select(['name', 'rows'])
    .execute()
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

/** Tables with rows about an answer, deleted with it. */
export const tablesOfAnswers = [...factTables, 'quarantine', 'trust_marks'] as const

/** Deletes answers with their bodies. Dictionary entries they refer to are recorded, to be deleted once unused. */
export async function removeAnswers(
  trx: Transaction<DB>,
  answers: readonly number[],
): Promise<DeletedRows> {
  await trx.executeQuery(statement('note_words', { answers }))
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

/** Number of rows deleted or cleared, by table. */
export type DeletedRows = Readonly<Record<string, number>>

/** Adds two counts. */
export function addRows(one: DeletedRows, other: DeletedRows): DeletedRows {
  const sum: Record<string, number> = { ...one }
  for (const [table, rows] of Object.entries(other)) sum[table] = (sum[table] ?? 0) + rows
  return sum
}

/** Runs a change; returns the number of rows affected. */
export async function touched(db: Database, change: Compilable): Promise<number> {
  const { numAffectedRows } = await db.executeQuery(change)
  return Number(numAffectedRows ?? 0)
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
