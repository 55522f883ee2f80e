// Loads the part of an archive that a query needs.

import type pg from 'pg'
import type { PoolClient } from 'pg'
import { count } from '../../base/cli/text.ts'
import { say } from '../../base/cli/command.ts'
import type { Environment } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { readViews } from '../../base/database/migrate.ts'
import { findReader } from '../../base/database/reader-role.ts'
import { codeOf, Misuse } from '../../base/errors.ts'
import { isDay } from '../../base/time/zone.ts'
import type { Mill } from '../../core/mill.ts'
import { enterRows } from './copy.ts'
import {
  archivedTables,
  lockNotAvailable,
  movedTables,
  readArchivedDays,
  readColumns,
  takeArchive,
} from './days.ts'
import { withEngine } from './engine.ts'
import { readFiled, readManifest } from './files.ts'
import { ArchiveFolder, archivePath } from './folder.ts'

/** Part of the archive to include in a query, and the archive's location. */
interface ArchiveReading {
  readonly db: Database
  readonly installation: string
  /** Query text. Only the data that the query can read is loaded. */
  readonly text: string
  /** Range of archived days; undefined means all archived days. */
  readonly span?: { readonly since: string; readonly until: string } | undefined
  /** Current folder of the archive; if undefined, each day is read from the folder in which it was written. */
  readonly folder?: string | undefined
  readonly report: (line: string) => void
}

const keys: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(archivedTables.map(({ name, key }) => [name, key])),
  loaded_answers: ['search_id'],
  loaded_days: ['run_date'],
}
const movable = movedTables.map(({ name }) => name)

/** Loads archived rows into temporary tables. The views on this connection also read these tables. */
export async function loadArchive(client: PoolClient, reading: ArchiveReading): Promise<void> {
  const begun = performance.now()
  // Without the lock, a day that is archived or restored at the same time could be missed or read twice.
  await takeArchive(client, 'shared')
  const all = await readArchivedDays(reading.db)
  const { since = '', until = '9999-12-31' } = reading.span ?? {}
  const asked = all.filter(({ run_date: day }) => since <= day && day <= until)
  const days = new Set(asked.map((day) => day.run_date))
  const read = new Set([...days, ...(await readLenders(client, [...days]))])
  const tables = tablesOf(reading.text, movable)
  const filled = [...tables, 'loaded_answers', 'loaded_days']
  await addTables(client, filled)
  const columns = await readColumnsRead(client, reading.text, tables)
  await client.query('begin read write')
  // Times in the archive are in UTC.
  await client.query("set local timezone = 'UTC'")
  // A table that is truncated counts as new in this transaction, so the server skips visibility checks for its rows.
  await client.query(`truncate ${filled.map((name) => loadedTable(name)).join(', ')}`)
  let rows = 0
  await withEngine(async (engine) => {
    for (const day of all.filter(({ run_date: date }) => read.has(date))) {
      const folder = new ArchiveFolder(reading.folder ?? day.folder)
      const manifest = await readManifest(day, { folder, installation: reading.installation })
      for (const table of manifest.tables) {
        const names = columns.get(table.table)
        if (names === undefined) continue
        const loaded = table.columns.filter(({ name }) => names === null || names.has(name))
        const entry = { table: loadedTable(table.table), columns: loaded, fresh: true } as const
        rows += await enterRows(client, entry, readFiled({ engine, folder }, table, loaded))
      }
    }
  })
  await enterLoaded(client, [...days], [...read])
  await client.query('commit')
  await settleTables(client, filled)
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const away = all.length - asked.length
  reading.report(
    `read ${count(rows, 'row')} of ${count(days.size, 'day')} from the archive in ${seconds} s${away === 0 ? '' : `; ${count(away, 'other day')} left out`}`,
  )
}

/** For each table, the columns that a query may read; null means all columns. */
async function readColumnsRead(client: PoolClient, text: string, tables: readonly string[]) {
  const planned = await planQuestion(client, text)
  const ours = new Map(readViews().files.map((file) => [file.name, withoutWords(file.text)]))
  const read = new Map<string, ReadonlySet<string> | null>()
  for (const table of tables) {
    // The plan names all columns that are read.
    const words = planned?.words.get(`archived_${table}`)
    // A function's columns appear in the plan only if the server inlined the function.
    const hidden = planned?.functions.some(
      (name) => !ours.has(name) || wordsBehind(name, ours).has(table),
    )
    // A reference to a whole row reads all columns.
    if (hidden !== false || words?.has('.*') === true) {
      read.set(table, null)
      continue
    }
    const columns = await readColumns(client, { name: table })
    const always = columns.flatMap(({ name, required }) => (required ? [name] : []))
    read.set(table, new Set([...(words ?? []), ...always, ...(keys[table] ?? [])]))
  }
  return read
}

/**
 * Finds the tables that a query names, directly or through views and functions. Words in comments count too, because an
 * extra table only costs time, whereas a missing table would cause wrong results.
 */
export function tablesOf(question: string, tables: readonly string[]): readonly string[] {
  const seen = wordsBehind(
    question,
    new Map(readViews().files.map((file) => [file.name, file.text])),
  )
  return tables.filter((name) => seen.has(name))
}

/** Collects the words in a query, and in the definitions of all views and functions that the query names. */
function wordsBehind(text: string, texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const seen = new Set<string>()
  const look = (from: string): void => {
    for (const [word] of from.toLowerCase().matchAll(/\w+/g)) {
      if (seen.has(word)) continue
      seen.add(word)
      const defined = texts.get(word)
      if (defined !== undefined) look(defined)
    }
  }
  look(text)
  return seen
}

/** Strips comments, because nearly all of them contain the word "results", which is also the name of a view. */
function withoutWords(text: string): string {
  return text.replaceAll(/--[^\n]*|comment on [^']*'(?:[^']|'')*';/g, '')
}

/** Returns a function that loads the part of the archive named by the flags, or undefined if no part is named. */
export function readArchive(
  asked: ReturnType<typeof archiveFlags>,
  { db, installation }: Pick<Mill, 'db' | 'installation'>,
  text: string,
) {
  if (asked === undefined) return undefined
  return (client: PoolClient) =>
    loadArchive(client, { ...asked, db, installation, text, report: say })
}

interface ArchiveFlags {
  readonly withArchive?: true
  readonly archived?: string
  readonly archive?: string
}

/** Returns the part of the archive that the flags select, or undefined if the flags select none. */
export function archiveFlags(flags: ArchiveFlags, env: Environment) {
  const { withArchive, archived, archive } = flags
  if (withArchive !== true && archived === undefined) {
    if (archive === undefined) return undefined
    throw new Misuse(
      'expected --with-archive together with --archive, got --archive alone; add --with-archive',
    )
  }
  return {
    span: archived === undefined ? undefined : readDayRange('archived', archived),
    folder: archive === undefined ? undefined : archivePath(env, archive),
  }
}

export function readDayRange(flag: string, typed: string) {
  const [since = '', until = since, ...more] = typed.split('..')
  if (isDay(since) && isDay(until) && since <= until && more.length === 0) return { since, until }
  throw new Misuse(
    `expected --${flag} to name a day or a range of days, as in 2026-01-01..2026-01-31, got ${JSON.stringify(typed)}`,
  )
}

function loadedTable(name: string): string {
  return `pg_temp.archived_${name}`
}

/** Adds temporary tables that inherit from the database's tables, so that queries on this connection read both. */
async function addTables(client: PoolClient, tables: readonly string[]): Promise<void> {
  // The buffer size can only be set before the connection's first temporary table is created.
  await client.query("set temp_buffers = '64MB'").catch(() => undefined)
  await client.query('begin read write')
  try {
    await client.query("set local lock_timeout = '10s'")
    for (const name of tables) {
      await client.query(
        `create temporary table archived_${name} () inherits (public.${name}) on commit preserve rows`,
      )
    }
    await client.query('commit')
  } catch (cause) {
    await client.query('rollback')
    if (codeOf(cause) !== lockNotAvailable) throw cause
    throw new Misuse(
      'the answer tables are locked by another process that is changing or vacuuming them; run the same command again',
      { cause },
    )
  }
}

async function enterLoaded(client: PoolClient, days: readonly string[], read: readonly string[]) {
  await client.query(
    `insert into ${loadedTable('loaded_answers')} (search_id)
    select searches.id
    from public.runs
    join public.tasks on tasks.run_id = runs.id
    join public.searches on searches.task_id = tasks.id and searches.archived
    where runs.run_date = any ($1::date[])`,
    [read],
  )
  await client.query(
    `insert into ${loadedTable('loaded_days')} (run_date) select unnest($1::date[])`,
    [days],
  )
}

/** Creates the indexes that the original tables have. */
async function settleTables(client: PoolClient, tables: readonly string[]) {
  await client.query('begin read write')
  for (const name of tables) {
    await client.query(`create index on ${loadedTable(name)} (${keys[name]?.join(', ')})`)
    await client.query(`analyze ${loadedTable(name)}`)
  }
  await client.query('commit')
}

/** Finds the archived days with answers that other days reuse. */
async function readLenders(client: PoolClient, days: readonly string[]) {
  const { rows } = await client.query<{ day: string }>(
    `select distinct lent.run_date as day
    from public.runs
    join public.tasks on tasks.run_id = runs.id and tasks.state in ('reused', 'not_asked')
    join public.searches on searches.id = tasks.search_id and searches.archived
    join public.tasks as own on own.id = searches.task_id
    join public.runs as lent on lent.id = own.run_id
    where lent.run_date <> all ($1::date[])
      and (runs.run_date = any ($1::date[]) or runs.run_date not in (select run_date from public.archived_days))`,
    [days],
  )
  return rows.map(({ day }) => day)
}

interface Step {
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Step[]
}

/**
 * Plans a query over the added tables, which are still empty; null if planning fails. Because these tables have no
 * indexes yet, their scans list exactly the columns that the query needs.
 */
async function planQuestion(client: PoolClient, text: string) {
  const question = text
    .trim()
    .replace(/(;|\s|--[^\n]*$)+$/, '')
    // The plan must cover all parameter values, because the plan for a specific value may read less data.
    .replaceAll(/\$\d+/g, "current_setting('querymill.asked', true)")
  await client.query('begin read only')
  try {
    const reader = await findReader(client)
    // Planning may call functions that other users created, so the read-only role is used.
    if (reader !== null) await client.query(`set local role ${reader}`)
    // The extended protocol allows only one statement. Otherwise, any text after a semicolon would be executed.
    const explain = { text: `explain (verbose, format json) ${question}`, queryMode: 'extended' }
    const plan: pg.QueryResult<{ 'QUERY PLAN': readonly { Plan: Step }[] }> =
      await client.query(explain)
    // Words from the plan's scans, by temporary table, such as the names of the columns read.
    const words = new Map<string, Set<string>>()
    for (const { Plan: step } of plan.rows[0]?.['QUERY PLAN'] ?? []) gatherWords(step, words)
    const called = wordsOf(plan.rows)
    const { rows } = await client.query<{ name: string }>(
      `select distinct proname as name
      from pg_proc
      where pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`,
    )
    // The plan does not show the tables that these functions read.
    return { words, functions: rows.map(({ name }) => name).filter((name) => called.has(name)) }
  } catch {
    // If the query is invalid, the error is reported when the query itself runs.
    return null
  } finally {
    await client.query('rollback')
  }
}

function gatherWords(step: Step, words: Map<string, Set<string>>): void {
  const { 'Relation Name': table, Plans: below = [], ...said } = step
  if (table !== undefined) {
    const found = words.get(table) ?? new Set()
    words.set(table, new Set([...found, ...wordsOf(said)]))
  }
  for (const each of below) gatherWords(each, words)
}

/** Returns the words in a plan, and `.*` if the plan uses a whole row. */
function wordsOf(said: unknown): ReadonlySet<string> {
  const found = JSON.stringify(said).toLowerCase()
  return new Set([...found.matchAll(/\w+|\.\*/g)].map(([word]) => word))
}
