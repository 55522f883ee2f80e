import pg from 'pg'
import { furtherWords, type Document } from './document.ts'

/** Pages that one statement puts in. */
export const batchSize = 2000

/** A page and the line that it stood on. */
export interface CorpusLine {
  readonly line: number
  readonly document: Document
}

export interface RefusedPage {
  readonly line: number
  readonly why: string
}

/** Puts pages in, all but those that the database cannot hold: a batch that fails is halved until they stand alone. */
export async function insertLines(
  client: pg.PoolClient,
  lines: readonly CorpusLine[],
): Promise<RefusedPage[]> {
  const [first] = lines
  if (first === undefined) return []
  await client.query('savepoint batch')
  try {
    await insertBatch(
      client,
      lines.map(({ document }) => document),
      false,
    )
    await client.query('release savepoint batch')
    return []
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !isAboutData(error)) throw error
    await client.query('rollback to savepoint batch')
    if (lines.length === 1) {
      return [
        { line: first.line, why: `expected a page that can be indexed, got: ${error.message}` },
      ]
    }
  }
  const half = Math.ceil(lines.length / 2)
  return [
    ...(await insertLines(client, lines.slice(0, half))),
    ...(await insertLines(client, lines.slice(half))),
  ]
}

/** Values out of range, too long for an index or a text to search: the page is wrong, not the database. */
function isAboutData({ code }: pg.DatabaseError): boolean {
  return code !== undefined && /^(22|23|54)/.test(code)
}

/** Postgres holds no NUL and no half characters. */
function storable({ title, text, entities, ...rest }: Document): Document {
  const clean = (dirty: string) => dirty.replaceAll('\0', ' ').toWellFormed()
  return {
    ...rest,
    title: clean(title),
    text: clean(text),
    entities: entities.map(({ name, type }) => ({ name: clean(name), type: clean(type) })),
  }
}

/** Puts the shipped documents in; one that cannot be held is a fault of the file. */
export async function insertAll(
  client: pg.PoolClient,
  documents: readonly Document[],
): Promise<void> {
  for (let at = 0; at < documents.length; at += batchSize) {
    await insertBatch(client, documents.slice(at, at + batchSize), true)
  }
}

async function insertBatch(
  client: pg.PoolClient,
  given: readonly Document[],
  shipped: boolean,
): Promise<void> {
  // One statement cannot meet the same address twice: the last line about it wins.
  const batch = [...new Map(given.map((document) => [document.url, storable(document)])).values()]
  const columns = [
    batch.map(({ url }) => url),
    batch.map(({ title, url }) => title || new URL(url).hostname),
    batch.map(({ text }) => text),
    batch.map(furtherWords),
    batch.map(({ lang }) => lang),
    batch.map(({ entities }) => entities.length > 0),
  ]
  await client.query(
    `insert into documents (url, title, body, words, lang, subject, shipped)
    select url, title, body, words, lang, subject, $7
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[]) as given (url, title, body, words, lang, subject)
    on conflict (url) do update
    set
      title = excluded.title,
      body = excluded.body,
      words = excluded.words,
      lang = excluded.lang,
      subject = excluded.subject,
      shipped = excluded.shipped`,
    [...columns, shipped],
  )
  const entities = new Map(
    batch.flatMap((document) => document.entities.map((one) => [one.name.toLowerCase(), one])),
  )
  await client.query(
    `insert into entities (key, name, type)
    select key, name, type
    from unnest($1::text[], $2::text[], $3::text[]) as given (key, name, type)
    on conflict (key) do nothing`,
    [
      [...entities.keys()],
      [...entities.values()].map(({ name }) => name),
      [...entities.values()].map(({ type }) => type),
    ],
  )
}
