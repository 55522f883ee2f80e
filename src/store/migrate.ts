import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Migrator, sql, type Kysely, type Migration } from './kysely.ts'
import type { Pool } from 'pg'
import { MillError, WrongDatabase, reasonOf } from '../shared/errors.ts'
import { openDatabase, probeDatabase, type Database } from './database.ts'
import { root } from '../shared/root.ts'

/** One file of `sql/migrations`. */
export interface MigrationFile {
  readonly name: string
  readonly text: string
  readonly sha256: string
}

/** Where the migrations of this program lie. */
const migrationFolder = join(root, 'sql', 'migrations')

/** All migrations, in the order in which they are applied. */
export function readMigrations(folder = migrationFolder): readonly MigrationFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      // A checkout that rewrites line ends has not edited the file.
      const sha256 = hash('sha256', text.replaceAll('\r\n', '\n'), 'hex')
      return { name: name.slice(0, -'.sql'.length), text, sha256 }
    })
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

/** What was applied once must still be there, unchanged: else two databases of one release would differ. */
function compare(applied: readonly Applied[], files: readonly MigrationFile[]): void {
  const known = new Map(files.map((file) => [file.name, file.sha256]))
  const newest = files.at(-1)?.name ?? ''
  for (const { name, sha256 } of applied) {
    const here = known.get(name)
    if (here === sha256) continue
    if (here !== undefined) {
      throw new WrongDatabase(
        `expected sql/migrations/${name}.sql as it was applied, got an edited file; restore it, and put the change into a new file`,
      )
    }
    throw new WrongDatabase(
      name > newest
        ? `expected a database that this program knows, got one that a newer release migrated (${name}); use that release or a newer one`
        : `expected sql/migrations/${name}.sql, which was applied to the database, got no such file; restore it`,
    )
  }
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
