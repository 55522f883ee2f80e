// Brings the tables and views up to date.

import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Pool, PoolClient } from 'pg'
import { z } from 'zod'
import { codeOf, MillError, reasonOf, WrongDatabase } from '../errors.ts'
import { root } from '../root.ts'
import { pause } from '../waiting.ts'
import { type Database, openDatabase, probeDatabase } from './database.ts'
import { type Kysely, type Migration, Migrator, sql } from './kysely.ts'

/** One step of the schema: the baseline, or a file of `sql/migrations`. */
interface MigrationFile {
  readonly name: string
  readonly text: string
  readonly sha256: string
}

/** Folder of the schema: the baseline in `schema`, later changes in `migrations`. */
const sqlFolder = join(root, 'sql')

/** The baseline: the first migration, made of the files of `sql/schema`. */
const baseline = '0001_schema'

/** The files of the baseline, each after those that its tables refer to. */
const schemaParts = [
  'database',
  'lists',
  'runs',
  'ledger',
  'answers',
  'nights',
  'forecast',
  'analysis',
  'alerts',
  'cadence',
  'expand',
  'notifications',
  'archive',
  'forget',
  'declared_keys',
]

/** All migrations, in the order in which they are applied. */
export function readMigrations(folder = sqlFolder): readonly MigrationFile[] {
  const schema = schemaParts.map((part) => readSql(join(folder, 'schema', `${part}.sql`)))
  const later = join(folder, 'migrations')
  const names = existsSync(later) ? readdirSync(later) : []
  return [
    migration(baseline, schema.join('\n')),
    ...names
      .filter((name) => name.endsWith('.sql'))
      .toSorted()
      .map((name) => migration(basename(name, '.sql'), readSql(join(later, name)))),
  ]
}

function migration(name: string, text: string): MigrationFile {
  return { name, text, sha256: hash('sha256', text, 'hex') }
}

/** A checkout that rewrites line ends has not edited the file. */
function readSql(path: string): string {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n')
}

const leastVersion = 150_000

// Apart from the analysts' tables: nobody who lists those wants to see how they were made.
const schema = 'migrations'

interface Applied {
  readonly name: string
  readonly sha256: string
}

/** Brings the tables up to date, once, however many hosts ask at the same time; gives the names of what was applied. */
export async function migrateDatabase(
  pool: Pool,
  files: readonly MigrationFile[] = readMigrations(),
): Promise<readonly string[]> {
  const db = openDatabase(pool)
  await probeDatabase(db)
  await checkVersion(db)
  compare(await readApplied(db), files)
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => provide(files) },
    migrationTableSchema: schema,
    migrationTableName: 'applied',
    migrationLockTableName: 'lock',
  })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error !== undefined)
    throw explain(
      error,
      results.find((one) => one.status === 'Error'),
    )
  return results.map((one) => one.migrationName)
}

/** Fails with one readable line when the database is not as this program needs it; changes nothing. */
export async function checkDatabase(
  db: Database,
  files: readonly MigrationFile[] = readMigrations(),
): Promise<void> {
  await checkVersion(db)
  const applied = await readApplied(db)
  compare(applied, files)
  const missing = files.length - applied.length
  if (missing === 0) return
  throw new WrongDatabase(
    applied.length === 0
      ? 'expected the tables of querymill in the database, got none; type npm run migrate'
      : `expected a database with all ${files.length} migrations, got ${missing} too few; type npm run migrate`,
  )
}

async function checkVersion(db: Database): Promise<void> {
  const { rows } = await sql<{ number: number; name: string }>`
    select
      current_setting('server_version_num')::integer as number,
      current_setting('server_version') as name
  `.execute(db)
  const found = rows[0]
  if (found !== undefined && found.number >= leastVersion) return
  throw new WrongDatabase(
    `expected PostgreSQL 15 or newer, got ${found?.name ?? 'an unknown release'}; upgrade the server, or leave DATABASE_URL unset for the embedded one`,
  )
}

async function readApplied(db: Database): Promise<readonly Applied[]> {
  const table = sql.table(`${schema}.checksums`)
  const there = await sql<{ oid: string | null }>`
    select to_regclass(${`${schema}.checksums`})::text as oid
  `.execute(db)
  if ((there.rows[0]?.oid ?? null) === null) return []
  const { rows } = await sql<Applied>`select name, sha256 from ${table} order by name`.execute(db)
  return rows
}

/** Refuses an applied file that is missing or edited: two databases of one release would differ. */
function compare(applied: readonly Applied[], files: readonly MigrationFile[]): void {
  const known = new Map(files.map((file) => [file.name, file.sha256]))
  const newest = files.at(-1)?.name ?? ''
  for (const { name, sha256 } of applied) {
    const here = known.get(name)
    if (here === sha256) continue
    if (here !== undefined) {
      throw new WrongDatabase(
        `expected ${placeOf(name)} as it was applied, got an edited file; restore it, and put the change into a new file`,
      )
    }
    throw new WrongDatabase(
      name > newest
        ? `expected a database that this program knows, got one that a newer release migrated (${name}); use that release or a newer one`
        : `expected ${placeOf(name)}, which was applied to the database, got no such file; restore it`,
    )
  }
}

function placeOf(name: string): string {
  return name === baseline ? 'sql/schema' : `sql/migrations/${name}.sql`
}

function provide(files: readonly MigrationFile[]): Record<string, Migration> {
  return Object.fromEntries(files.map((file) => [file.name, { up: (db) => apply(db, file) }]))
}

/** Runs inside kysely's lock and transaction: the tables and their checksum come together or not at all. */
async function apply(db: Kysely<unknown>, file: MigrationFile): Promise<void> {
  await sql.raw(file.text).execute(db)
  const table = sql.table(`${schema}.checksums`)
  await sql`
    create table if not exists ${table} (
      name text primary key,
      sha256 text not null,
      applied_at timestamptz not null default now()
    )
  `.execute(db)
  await sql`insert into ${table} (name, sha256) values (${file.name}, ${file.sha256})`.execute(db)
}

function explain(cause: unknown, failed: { migrationName: string } | undefined): MillError {
  if (cause instanceof MillError) return cause
  const reason = reasonOf(cause)
  const what = failed === undefined ? 'the migrations' : `migration ${failed.migrationName}`
  return new WrongDatabase(
    `expected ${what} to be applied, got: ${reason}; nothing was changed: mend the cause, then type npm run migrate again`,
    { cause },
  )
}

/** One file below `sql/views`: a view or a function, with its comments. */
export interface ViewFile {
  readonly name: string
  /** Path below `sql/views`, for messages. */
  readonly path: string
  readonly text: string
  readonly checksum: string
}

interface ViewFiles {
  /** Each after those that it rests on. */
  readonly files: readonly ViewFile[]
  /** Comments of columns by name, unless a file has its own. */
  readonly words: ReadonlyMap<string, string>
}

/** Folder of the views, one subfolder for each family. */
const viewFolder = join(sqlFolder, 'views')
const wordsFile = join(sqlFolder, 'columns.json')

/** Reads all definitions, in an order in which they can be put in place. */
export function readViews(folder = viewFolder): ViewFiles {
  const words = z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(wordsFile, 'utf8')))
  const meaning = JSON.stringify(words)
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.sql'))
    .map((path) => {
      const text = readSql(join(folder, path))
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
      if (codeOf(cause) !== lockNotAvailable) throw explainView(file, cause)
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

function explainView(file: ViewFile, cause: unknown): WrongDatabase {
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
