// Reads the shipped corpus and page files, and loads their pages into the service's tables.

import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { tryDecode } from 'hono/utils/url'
import type pg from 'pg'
import { z } from 'zod'
import { codeOf, reasonOf, unreadable } from '../../base/errors.ts'
import { root } from '../../base/root.ts'

/** PostgreSQL cannot store NUL characters or lone surrogates. */
const storable = z.string().overwrite((dirty) => dirty.replaceAll('\0', ' ').toWellFormed())

export const documentShape = z.object({
  url: z.url({ protocol: /^https?$/ }).max(4096),
  title: storable.max(2000),
  text: storable.max(400_000).default(''),
  lang: z
    .string()
    .regex(/^[a-z]{2,3}$/)
    .default('en'),
  entities: z
    .array(z.object({ name: storable.min(2).max(200), type: storable.max(50) }))
    .default([]),
})

type Document = z.output<typeof documentShape>

/** Removes the site name from a title, as the index does. */
export function titleAlone(title: string): string {
  return title.replace(/( - [^|]+ \| MDN| \| [^|]+| - Web features explorer)$/, '')
}

/** Returns additional search terms: the words in the page's address, and in names such as `ServiceWorker`. */
export function furtherWords({ title, url }: Pick<Document, 'title' | 'url'>): string {
  const camel = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g
  const texts = `${titleAlone(title)} ${tryDecode(new URL(url).pathname, decodeURIComponent)}`
  const words = texts.split(/[^\p{L}\p{N}]+/u).flatMap((word) => word.split(camel))
  return [...new Set(words.filter((word) => word !== ''))].join(' ')
}

export async function* readLines(path: string, shown: string): AsyncGenerator<string> {
  const folder = 'a folder; specify the files in it'
  const handle = await open(path).catch((cause: unknown) => {
    throw unreadable(shown, cause, folder)
  })
  try {
    if ((await handle.stat()).isDirectory()) throw unreadable(shown, { code: 'EISDIR' }, folder)
    yield* handle.readLines()
  } finally {
    await handle.close()
  }
}

export const shippedFile = join(root, 'src', 'service', 'corpus', 'corpus.jsonl.gz')

export async function loadShipped(pool: pg.Pool, file = shippedFile): Promise<number> {
  const packed = readFileSync(file)
  const sha256 = hash('sha256', packed, 'hex')
  return await inTransaction(pool, async (client) => {
    // First checks without the lock, because the corpus is usually loaded already.
    if (await isLoaded(client, sha256)) return 0
    await client.query(lockCorpus)
    if (await isLoaded(client, sha256)) return 0
    const lines = gunzipSync(packed).toString('utf8').trim().split('\n')
    const documents = lines.map((line) => documentShape.parse(JSON.parse(line)))
    await client.query('delete from documents where shipped')
    // Building the index once takes a third as long as updating it row by row.
    await client.query('drop index if exists documents_tsv')
    for (let at = 0; at < documents.length; at += 2000) {
      await insertBatch(client, documents.slice(at, at + 2000), true)
    }
    await client.query('create index documents_tsv on documents using gin (tsv)')
    await refreshWords(client)
    await client.query(
      `insert into corpora (name, sha256, documents)
      values ('shipped', $1, $2)
      on conflict (name) do update set sha256 = excluded.sha256, documents = excluded.documents, loaded_at = now()`,
      [sha256, documents.length],
    )
    return documents.length
  })
}

/** Adds the pages in JSONL files. Reports lines that contain no page. */
export async function addDocuments(
  pool: pg.Pool,
  files: readonly { readonly shown: string; readonly lines: AsyncIterable<string> }[],
) {
  const rejected: string[] = []
  let documents = 0
  await inTransaction(pool, async (client) => {
    await client.query(lockCorpus)
    for (const { shown, lines } of files) {
      let line = 0
      for await (const text of lines) {
        line += 1
        if (text.trim() === '') continue
        const problem = await addLine(client, text)
        if (problem === null) documents += 1
        else rejected.push(`${shown}:${line}: ${problem}`)
      }
    }
    if (documents > 0) await refreshWords(client)
  })
  return { documents, rejected }
}

// Services that start at the same time load the corpus one after another. The number is arbitrary.
const lockCorpus = 'select pg_advisory_xact_lock(7361002)'

async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    // The connection is discarded, because it may be broken.
    client.release(true)
    throw error
  }
}

async function isLoaded(client: pg.PoolClient, sha256: string): Promise<boolean> {
  const text = "select from corpora where name = 'shipped' and sha256 = $1"
  return (await client.query(text, [sha256])).rowCount === 1
}

async function refreshWords(client: pg.PoolClient): Promise<void> {
  await client.query(`
    truncate lexemes, spellings;
    insert into lexemes (word, documents)
    select word, ndoc
    from ts_stat('select tsv from documents');
    insert into spellings (word, documents, heads)
    select every.word, every.ndoc, coalesce(ahead.ndoc, 0)
    from ts_stat($$select to_tsvector('simple'::regconfig, words || ' ' || body) from documents$$) as every
    left join ts_stat($$select to_tsvector('simple'::regconfig, words) from documents$$) as ahead using (word)`)
}

/** Adds a page. Returns the reason if the line contains no page, or if PostgreSQL rejects the page. */
async function addLine(client: pg.PoolClient, text: string): Promise<string | null> {
  try {
    const document = documentShape.parse(JSON.parse(text))
    await client.query('savepoint page')
    await insertBatch(client, [document], false)
    await client.query('release savepoint page')
    return null
  } catch (error) {
    if (error instanceof SyntaxError) return 'the line is not valid JSON'
    const [issue] = error instanceof z.ZodError ? error.issues : []
    if (issue !== undefined) return `${issue.path.join('.')}: ${issue.message}`
    // Only SQLSTATE classes 22, 23 and 54 indicate an error in the page.
    if (!/^(22|23|54)/.test(codeOf(error) ?? '')) throw error
    await client.query('rollback to savepoint page')
    return `PostgreSQL cannot index this page: ${reasonOf(error)}`
  }
}

async function insertBatch(client: pg.PoolClient, given: readonly Document[], shipped: boolean) {
  // Only the last page with each address is used, because INSERT ... ON CONFLICT cannot update a row twice.
  const batch = [...new Map(given.map((document) => [document.url, document])).values()]
  const rows = batch.map((document) => ({
    ...document,
    title: document.title || new URL(document.url).hostname,
    words: furtherWords(document),
    subject: document.entities.length > 0,
  }))
  await client.query(
    `insert into documents (url, title, body, words, lang, subject, shipped)
    select url, title, text, words, lang, subject, $2
    from json_to_recordset($1) as given (url text, title text, text text, words text, lang text, subject boolean)
    on conflict (url) do update
    set
      title = excluded.title,
      body = excluded.body,
      words = excluded.words,
      lang = excluded.lang,
      subject = excluded.subject,
      shipped = excluded.shipped`,
    [JSON.stringify(rows), shipped],
  )
  const entities = new Map(
    batch.flatMap((document) => document.entities.map((one) => [one.name.toLowerCase(), one])),
  )
  await client.query(
    `insert into entities (key, name, type)
    select key, name, type
    from json_to_recordset($1) as given (key text, name text, type text)
    on conflict (key) do nothing`,
    [JSON.stringify(Array.from(entities, ([key, one]) => ({ key, ...one })))],
  )
}
