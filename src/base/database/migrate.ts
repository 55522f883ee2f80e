// Migrates the tables and applies the views.

import { npmRun } from '../cli/commands.ts'
import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Pool } from 'pg'
import { z } from 'zod'
import { codeOf, MillError, reasonOf, WrongDatabase } from '../errors.ts'
import { root } from '../root.ts'
import { pause } from '../waiting.ts'
import { type Database, openDatabase, probeDatabase } from './database.ts'
import { type Kysely, Migrator, sql } from './kysely.ts'
import { only } from './sql-file.ts'

type MigrationFile = ReturnType<typeof migration>

const sqlFolder = join(root, 'sql')

/** The first migration, which consists of the files in `sql/schema`. */
const baseline = '0001_schema'

/** Files of the baseline, in dependency order. */
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

function migration(name: string, text: string) {
  return { name, text, sha256: hash('sha256', text, 'hex') }
}

/** Normalizes line endings, so that a checkout with CRLF does not count as edited. */
function readSql(path: string): string {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n')
}

const leastVersion = 150_000

// Schema of the migration tables, separate from the schema that analysts see.
const schema = 'migrations'

type Applied = Pick<MigrationFile, 'name' | 'sha256'>

/** Applies pending migrations and returns their names. Several hosts can safely call this function at the same time. */
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
    provider: {
      getMigrations: async () =>
        Object.fromEntries(files.map((file) => [file.name, { up: (trx) => apply(trx, file) }])),
    },
    migrationTableSchema: schema,
    migrationTableName: 'applied',
    migrationLockTableName: 'lock',
  })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error instanceof MillError) throw error
  if (error !== undefined) {
    const failed = results.find((one) => one.status === 'Error')
    const what = failed === undefined ? 'the migrations' : `migration ${failed.migrationName}`
    throw new WrongDatabase(
      `${what} could not be applied: ${reasonOf(error)}; nothing was changed: fix the cause, then run ${npmRun('migrate')} again`,
      { cause: error },
    )
  }
  return results.map((one) => one.migrationName)
}

/** Throws a one-line error if the database does not match this release. Changes nothing. */
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
      ? `expected querymill's tables in the database, got none; run: ${npmRun('migrate')}`
      : `expected a database with all ${files.length} migrations, got a database that lacks ${missing}; run: ${npmRun('migrate')}`,
  )
}

async function checkVersion(db: Database): Promise<void> {
  const { rows } = await sql<{ number: number; name: string }>`
    select
      current_setting('server_version_num')::integer as number,
      current_setting('server_version') as name`.execute(db)
  const { number, name } = only(rows)
  if (number >= leastVersion) return
  throw new WrongDatabase(
    `expected PostgreSQL 15 or newer, got ${name}; upgrade the server, or leave DATABASE_URL unset to use the embedded PostgreSQL`,
  )
}

async function readApplied(db: Database): Promise<readonly Applied[]> {
  const name = `${schema}.checksums` as const
  const { rows } = await sql<{ found: boolean }>`
    select to_regclass(${name}) is not null as found`.execute(db)
  if (!only(rows).found) return []
  const checksums = db.withTables<Record<typeof name, Applied>>().selectFrom(name)
  return checksums.select(['name', 'sha256']).orderBy('name').execute()
}

/** Throws if an applied migration's file is missing or was edited, so that databases of one release do not differ. */
function compare(applied: readonly Applied[], files: readonly MigrationFile[]): void {
  const known = new Map(files.map((file) => [file.name, file.sha256]))
  const newest = files.at(-1)?.name ?? ''
  for (const { name, sha256 } of applied) {
    const here = known.get(name)
    if (here === sha256) continue
    if (here !== undefined) {
      throw new WrongDatabase(
        `expected ${placeOf(name)} to be unchanged since it was applied, got an edited file; restore it, and put the change in a new file`,
      )
    }
    throw new WrongDatabase(
      name > newest
        ? `expected a database that this release supports, got a database migrated by a newer release (${name}); use that release or a newer one`
        : `${placeOf(name)} was applied to the database, but the file is missing; restore the file`,
    )
  }
}

function placeOf(name: string): string {
  return name === baseline ? 'sql/schema' : `sql/migrations/${name}.sql`
}

/** Runs within kysely's lock and transaction, so that the changes and the file's checksum are committed together. */
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

/** A file in `sql/views`: a view or a function, with its comments and its path within the folder. */
type ViewFile = ReturnType<typeof readViews>['files'][number]

type Words = ReturnType<typeof readViews>['words']

/** Reads all views, and the default comments for columns without a comment in their view's file. */
export function readViews(folder = join(sqlFolder, 'views')) {
  const wordsFile = readFileSync(join(sqlFolder, 'columns.json'), 'utf8')
  const words = z.record(z.string(), z.string()).parse(JSON.parse(wordsFile))
  const meaning = JSON.stringify(words)
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.sql'))
    .map((path) => {
      const text = readSql(join(folder, path))
      const checksum = hash('sha256', `${text}\u001f${meaning}`, 'hex')
      return { name: basename(path, '.sql'), path, text, checksum }
    })
  return { files: inOrder(found), words }
}

function inOrder<File extends { readonly name: string; readonly text: string }>(
  files: readonly File[],
): readonly File[] {
  const byName = new Map(
    files.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((file) => [file.name, file]),
  )
  const sorted: File[] = []
  const begun = new Set<string>()
  const visit = (file: File): void => {
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
  // Comments may mention views that the file does not depend on.
  const code = text.replace(/^(--|comment on).*$/gm, '')
  return [...code.matchAll(/\b(?:analysis|public)\.(\w+)/g)].map((match) => match[1] ?? '')
}

// Number of attempts to replace a view. Most queries end before the last attempt.
const attempts = 60

/** Applies new and changed definitions and returns their names. Readers are blocked for at most a tenth of a second. */
export async function applyViews(pool: Pool, { files, words } = readViews()): Promise<string[]> {
  const db = openDatabase(pool)
  const rows = await db.selectFrom('view_files').select(['name', 'checksum']).execute()
  const there = new Map(rows.map(({ name, checksum }) => [name, checksum]))
  const changed = files.filter(({ name, checksum }) => there.get(name) !== checksum)
  // A new database has no readers, so all its views are created in one transaction.
  const groups = there.size === 0 && changed.length > 0 ? [changed] : changed.map((file) => [file])
  for (const group of groups) await applyTogether(db, group, words)
  return changed.map(({ name }) => name)
}

async function applyTogether(db: Database, files: readonly ViewFile[], words: Words) {
  for (let attempt = 1; ; attempt++) {
    let current = files[0]
    const replace = async (trx: Database) => {
      await sql.raw(settings).execute(trx)
      for (const file of files) {
        current = file
        await sql.raw(file.text).execute(trx)
      }
      await recordViews(trx, files, words)
    }
    try {
      await db.transaction().execute(replace)
      return
    } catch (cause) {
      if (codeOf(cause) !== lockNotAvailable || attempt === attempts) throw explain(current, cause)
      // During the pause, waiting queries can run.
      await pause(50 + Math.random() * 100)
    }
  }
}

// The lock serialises concurrent migrations, so that only the first migration changes anything. While a change to a view
// waits for its readers, all later queries wait behind the change.
const settings = `
  select pg_advisory_xact_lock(hashtext('querymill views'));
  set local lock_timeout = '100ms';
  set local search_path = public`

/** Adds comments to columns without their own, and stores the checksums of the views. */
async function recordViews(trx: Database, files: readonly ViewFile[], words: Words) {
  const names = files.map(({ name }) => name)
  const { rows } = await sql<{ statements: string | null }>`
    select
      string_agg(format('comment on column %s.%I is %L', attrelid::regclass, attname, words.value), ';') as statements
    from unnest(array['analysis.', 'public.']) as prefix
    cross join unnest(${names}::text[]) as name
    join pg_attribute on attrelid = to_regclass(prefix || quote_ident(name))
    join json_each_text(${JSON.stringify(words)}) as words on words.key = attname
    where attnum > 0
      and not attisdropped
      and col_description(attrelid, attnum) is null`.execute(trx)
  const comments = rows[0]?.statements ?? null
  if (comments !== null) await sql.raw(comments).execute(trx)
  await trx
    .insertInto('view_files')
    .values(files.map(({ name, checksum }) => ({ name, checksum })))
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({
        checksum: eb.ref('excluded.checksum'),
        applied_at: sql`now()`,
      })),
    )
    .execute()
}

const lockNotAvailable = '55P03'
const invalidTableDefinition = '42P16'

function explain(file: ViewFile | undefined, cause: unknown): unknown {
  if (file === undefined) return cause
  const again = `then run ${npmRun('migrate')} again`
  if (codeOf(cause) === lockNotAvailable) {
    return new WrongDatabase(
      `the view ${file.name} cannot be replaced because queries are still reading it; end long-running queries on the view, ${again}`,
      { cause },
    )
  }
  const advice =
    codeOf(cause) === invalidTableDefinition
      ? "a view's columns cannot change; add new columns at the end"
      : `fix the cause, ${again}`
  return new WrongDatabase(
    `sql/views/${file.path} could not be applied: ${reasonOf(cause)}; ${advice}`,
    { cause },
  )
}
