import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Pool, PoolClient } from 'pg'
import { z } from 'zod'
import { WrongDatabase, codeOf, reasonOf } from '../shared/errors.ts'
import { root } from '../shared/root.ts'
import { pause } from '../shared/waiting.ts'

/** One file below `sql/views`: a view or a function, with its comments. */
export interface ViewFile {
  readonly name: string
  /** Where it lies below `sql/views`, to be named in messages. */
  readonly path: string
  readonly text: string
  readonly checksum: string
}

export interface ViewFiles {
  /** Each after those that it rests on. */
  readonly files: readonly ViewFile[]
  /** What columns of a name mean wherever a file does not say otherwise. */
  readonly words: ReadonlyMap<string, string>
}

/** Where the definitions of this program lie: a folder for each family, and their common words beside them. */
const viewFolder = join(root, 'sql', 'views')
const wordsFile = join(root, 'sql', 'columns.json')

/** Reads all definitions, in an order in which they can be put in place. */
export function readViews(folder = viewFolder): ViewFiles {
  const words = z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(wordsFile, 'utf8')))
  const meaning = JSON.stringify(words)
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.sql'))
    .map((path) => {
      const text = readFileSync(join(folder, path), 'utf8').replaceAll('\r\n', '\n')
      const checksum = hash('sha256', `${text}\u001f${meaning}`, 'hex')
      return { name: basename(path, '.sql'), path, text, checksum }
    })
  return { files: inOrder(found), words: new Map(Object.entries(words)) }
}

function inOrder(files: readonly ViewFile[]): readonly ViewFile[] {
  const byName = new Map(
    files.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((file) => [file.name, file]),
  )
  const sorted: ViewFile[] = []
  const begun = new Set<string>()
  const visit = (file: ViewFile): void => {
    if (begun.has(file.name)) return
    begun.add(file.name)
    for (const other of mentioned(file.text)) {
      const found = byName.get(other)
      if (found !== undefined) visit(found)
    }
    sorted.push(file)
  }
  for (const file of byName.values()) visit(file)
  return sorted
}

function mentioned(text: string): readonly string[] {
  // Comments speak of views that the file does not need.
  const code = text.replace(/^(--|comment on).*$/gm, '')
  return [...code.matchAll(/\b(?:analysis|public)\.(\w+)/g)].map((match) => match[1] ?? '')
}

// Long enough for a reader's usual question to end, many times over.
const attempts = 60

/** Puts new and changed definitions in place; gives their names. Readers wait a tenth of a second at most. */
export async function applyViews(pool: Pool, { files, words } = readViews()): Promise<string[]> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from public.view_files',
    )
    const there = new Map(rows.map(({ name, checksum }) => [name, checksum]))
    const changed = files.filter(({ name, checksum }) => there.get(name) !== checksum)
    for (const file of changed) await applyOne(client, file, words)
    return changed.map(({ name }) => name)
  } finally {
    client.release()
  }
}

async function applyOne(client: PoolClient, file: ViewFile, words: ViewFiles['words']) {
  for (let attempt = 1; ; attempt++) {
    try {
      await replace(client, file, words)
      return
    } catch (cause) {
      await client.query('rollback')
      if (codeOf(cause) !== lockNotAvailable) throw explain(file, cause)
      if (attempt === attempts) throw inUse(file, cause)
      // Readers that queued up meanwhile go first.
      await pause(50 + Math.random() * 100)
    }
  }
}

async function replace(client: PoolClient, file: ViewFile, words: ViewFiles['words']) {
  await client.query('begin')
  // Two migrations at once take turns; the second finds its work done, or does it again to no effect.
  await client.query("select pg_advisory_xact_lock(hashtext('querymill views'))")
  // A change of a view waits for those who read it, and everybody else would queue up behind it.
  await client.query("set local lock_timeout = '100ms'")
  await client.query('set local search_path = public')
  await client.query(file.text)
  await commentColumns(client, file.name, words)
  await client.query(
    `insert into view_files (name, checksum)
    values ($1, $2)
    on conflict (name) do update
    set checksum = excluded.checksum,
      applied_at = now()`,
    [file.name, file.checksum],
  )
  await client.query('commit')
}

async function commentColumns(client: PoolClient, name: string, words: ViewFiles['words']) {
  const { rows } = await client.query<{ relation: string; column: string }>(
    `select attrelid::regclass::text as relation, attname as column
    from pg_attribute
    where attrelid in (to_regclass('analysis.' || quote_ident($1)), to_regclass('public.' || quote_ident($1)))
      and attnum > 0
      and not attisdropped
      and col_description(attrelid, attnum) is null`,
    [name],
  )
  for (const { relation, column } of rows) {
    const meaning = words.get(column)
    if (meaning === undefined) continue
    const text = client.escapeLiteral(meaning)
    await client.query(
      `comment on column ${relation}.${client.escapeIdentifier(column)} is ${text}`,
    )
  }
}

const lockNotAvailable = '55P03'
const invalidTableDefinition = '42P16'

function explain(file: ViewFile, cause: unknown): WrongDatabase {
  const reason = reasonOf(cause)
  const advice =
    codeOf(cause) === invalidTableDefinition
      ? 'columns of a view stay as they are, new ones come at the end'
      : 'mend the cause, then type npm run migrate again'
  return new WrongDatabase(
    `expected sql/views/${file.path} to be put in place, got: ${reason}; ${advice}`,
    { cause },
  )
}

function inUse(file: ViewFile, cause: unknown): WrongDatabase {
  return new WrongDatabase(
    `expected the view ${file.name} to be free for a moment, got readers all the time; end long questions to it, then type npm run migrate again`,
    { cause },
  )
}
