// Loads the part of an archive that a question needs.

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
import { enterRows, type RowEntry } from './copy.ts'
import { type ArchivedDay, archivedTables, readArchivedDays, takeArchive } from './days.ts'
import { type ParquetEngine, withEngine } from './engine.ts'
import {
  type FiledPlace,
  type Manifest,
  type ManifestTable,
  readFiled,
  readFiledColumns,
  readManifest,
} from './files.ts'
import { archiveAddress, type ArchivePlace } from './place.ts'

/** Which part of the archive a question is asked over, and where it lies. */
interface ArchiveReading {
  readonly db: Database
  readonly installation: string
  /** The question: what it cannot read is not loaded. */
  readonly text: string
  /** Days of the archive; undefined: all of them. */
  readonly span?: { readonly since: string; readonly until: string } | undefined
  /** Current place of the archive; undefined: the place where each day was written. */
  readonly folder?: string | undefined
  readonly places: (address: string) => ArchivePlace
  readonly tell: (line: string) => void
}

const keysOfTables = new Map(archivedTables.map(({ name, key }) => [name, key]))
const movable = archivedTables.filter(({ kind }) => kind === 'moved').map(({ name }) => name)

/** Reads the archive into tables of this connection alone, which end with it; the views then read both. */
export async function loadArchive(client: ArchiveReader, reading: ArchiveReading): Promise<void> {
  const begun = performance.now()
  // Days that leave or come back meanwhile would be missed, or seen twice.
  await takeArchive(client, 'shared')
  const all = await readArchivedDays(reading.db)
  const { since = '', until = '9999-12-31' } = reading.span ?? {}
  const asked = all.filter(({ run_date: day }) => since <= day && day <= until)
  const days = new Set(asked.map((day) => day.run_date))
  const lenders = new Set(await readLenders(client, [...days]))
  const lent = all.filter(({ run_date: day }) => lenders.has(day))
  const tables = tablesOf(reading.text, movable)
  const filled = [...tables, 'loaded_answers', 'loaded_days']
  await addTables(client, filled)
  const read = await readColumnsRead(client, reading.text, tables)
  let rows = 0
  await filling(client, filled, async () => {
    await withEngine(async (engine) => {
      for (const day of [...asked, ...lent]) {
        rows += await loadDay(client, { engine, day, read, reading })
      }
    })
    await enterDays(client, [...days])
  })
  await settleTables(
    client,
    new Map(
      filled.map((name) => [name, keysOfTables.get(name) ?? [...idOf[name as 'loaded_days']]]),
    ),
  )
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const away = all.length - asked.length
  reading.tell(
    `read ${count(rows, 'row')} of ${count(days.size, 'day')} from the archive in ${seconds} s${away === 0 ? '' : `; ${count(away, 'other day')} left out`}`,
  )
}

const idOf = { loaded_days: ['run_date'], loaded_answers: ['search_id'] } as const

/** The columns of each table that a question may read; null: all of them. */
type ColumnsRead = ReadonlyMap<string, ReadonlySet<string> | null>

async function readColumnsRead(
  client: ArchiveReader,
  text: string,
  tables: readonly string[],
): Promise<ColumnsRead> {
  const planned = await planQuestion(client, text)
  const read = new Map<string, ReadonlySet<string> | null>()
  for (const table of tables) {
    const told = planned === null ? null : columnsRead(planned, table)
    const always = [...(keysOfTables.get(table) ?? []), ...(await readRequired(client, table))]
    read.set(table, told === null ? null : new Set([...told, ...always]))
  }
  return read
}

async function loadDay(
  client: ArchiveReader,
  {
    engine,
    day,
    read,
    reading: { folder = day.folder, places, installation },
  }: {
    readonly engine: ParquetEngine
    readonly day: ArchivedDay
    readonly read: ColumnsRead
    readonly reading: ArchiveReading
  },
): Promise<number> {
  const place = places(folder)
  const manifest = await readManifest(day, { place, installation })
  const filed = { engine, place }
  let rows = 0
  for (const table of manifest.tables) {
    const names = read.get(table.table)
    if (names !== undefined) rows += await loadTable(client, filed, { table, names })
  }
  await loadAnswers(client, filed, manifest)
  return rows
}

/** Rows with the columns that are read; with all of them they are held to their sum as well. */
async function loadTable(
  client: ArchiveReader,
  filed: FiledPlace,
  { table, names }: { readonly table: ManifestTable; readonly names: ReadonlySet<string> | null },
): Promise<number> {
  const columns = table.columns.filter(({ name }) => names === null || names.has(name))
  const whole = columns.length === table.columns.length
  const rows = whole ? readFiled(filed, table) : readFiledColumns(filed, table, columns)
  return enterRows(client, { table: loadedTable(table.table), columns, fresh: true }, rows)
}

/** Which answers are there again. */
async function loadAnswers(
  client: ArchiveReader,
  filed: FiledPlace,
  { tables }: Manifest,
): Promise<void> {
  const table = tables.find((each) => each.table === 'searches')
  if (table === undefined) return
  const ids = table.columns.filter(({ name }) => name === 'id')
  const entry: RowEntry = {
    table: loadedTable('loaded_answers'),
    columns: [{ name: 'search_id', type: 'bigint' }],
    fresh: true,
  }
  await enterRows(client, entry, readFiledColumns(filed, table, ids))
}

/**
 * Which of some tables a question may read: those that it names, that a view or a function names which it names, and so
 * on. A table too many costs time, one too few would cost the answer: every word counts, also one in a comment.
 */
export function tablesOf(question: string, tables: readonly string[]): readonly string[] {
  const texts = new Map(readViews().files.map(({ name, text }) => [name, text]))
  const seen = wordsBehind(question, texts)
  return tables.filter((name) => seen.has(name))
}

/** The words of a text, and of the definitions of all that it names. */
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

/** The columns of a table that a planned question reads, among other words; null: all of them may be. */
function columnsRead(
  { words, functions }: PlannedReading,
  table: string,
): ReadonlySet<string> | null {
  const read = words.get(`archived_${table}`) ?? new Set()
  const ours = new Map(readViews().files.map(({ name, text }) => [name, withoutWords(text)]))
  // The plan shows the reads of a function only when the server has inlined it.
  const hidden = functions.some((name) => !ours.has(name) || wordsBehind(name, ours).has(table))
  // A row as a whole is all of its columns.
  return hidden || read.has('.*') ? null : read
}

/** A definition without what is only said about it: that nearly each names results by the way would tell nothing. */
function withoutWords(text: string): string {
  return text.replaceAll(/--[^\n]*|comment on [^']*'(?:[^']|'')*';/g, '')
}

/** Which part of the archive is read beside the tables. */
export type AskedArchive = Pick<ArchiveReading, 'span' | 'folder'>

/** Gives a function that loads the archive into the connection of a question. */
export function readArchive(
  asked: AskedArchive,
  { db, installation, config }: Pick<Mill, 'db' | 'installation' | 'config'>,
  text: string,
): (client: ArchiveReader) => Promise<void> {
  return async (client) => {
    // Loaded only for questions over the archive.
    const { openPlaces } = await import('./places.ts')
    await loadArchive(client, {
      ...asked,
      db,
      installation,
      text,
      places: openPlaces(config.bucket),
      tell: say,
    })
  }
}

interface ArchiveFlags {
  readonly withArchive?: true
  readonly archived?: string
  readonly archive?: string
}

/** Which part of the archive is to be read as well; undefined: nothing of it. */
export function archiveFlags(flags: ArchiveFlags, env: Environment): AskedArchive | undefined {
  const { withArchive, archived, archive } = flags
  if (withArchive !== true && archived === undefined) {
    if (archive === undefined) return undefined
    throw new Misuse('expected --with-archive beside --archive, got --archive alone; add it')
  }
  return {
    span: archived === undefined ? undefined : readDayRange('archived', archived),
    folder: archive === undefined ? undefined : archiveAddress(env, archive),
  }
}

/** A day, or all from one to another, as a flag names them. */
export function readDayRange(
  flag: string,
  typed: string,
): { readonly since: string; readonly until: string } {
  const [since = '', until = since, ...more] = typed.split('..')
  if (isDay(since) && isDay(until) && since <= until && more.length === 0) return { since, until }
  throw new Misuse(
    `expected --${flag} to name a day or two, as in 2026-01-01..2026-01-31, got ${JSON.stringify(typed)}`,
  )
}

/** A connection on which a question is asked over the tables and the archive. */
type ArchiveReader = PoolClient

const lockNotAvailable = '55P03'
const busy =
  'expected the tables of answers to be free for a moment, got somebody who changes or cleans them; ask again'

/** The table of this connection that holds the archived rows of a table. */
function loadedTable(name: string): string {
  return `pg_temp.archived_${name}`
}

/**
 * Adds tables of this connection alone to those of the database, by inheritance: whatever reads a table here, the views
 * first of all, reads the archived rows as well, and nobody else does.
 */
async function addTables(client: ArchiveReader, tables: readonly string[]): Promise<void> {
  // Until the first table of it is there, a connection may still say how much of them it keeps in memory.
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
    throw codeOf(cause) === lockNotAvailable ? new Misuse(busy, { cause }) : cause
  }
}

/** Does what fills these tables, whatever the connection is otherwise set to. */
async function filling(
  client: ArchiveReader,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  await client.query('begin read write')
  // As the values were written.
  await client.query("set local timezone = 'UTC'")
  // Rows of tables that are new in a transaction need not be looked at again to know that they are there.
  await client.query(`truncate ${tables.map((name) => loadedTable(name)).join(', ')}`)
  await fill()
  await client.query('commit')
}

/** Says which days are there again. */
async function enterDays(client: ArchiveReader, days: readonly string[]): Promise<void> {
  await client.query(
    `insert into ${loadedTable('loaded_days')} (run_date) select unnest($1::date[])`,
    [[...days]],
  )
}

/** Makes the rows as quick to find as those of the table itself. */
async function settleTables(client: ArchiveReader, keys: ReadonlyMap<string, readonly string[]>) {
  await client.query('begin read write')
  for (const [name, key] of keys) {
    await client.query(`create index on ${loadedTable(name)} (${key.join(', ')})`)
    await client.query(`analyze ${loadedTable(name)}`)
  }
  await client.query('commit')
}

/** Days in the archive that hold answers which other days use. */
async function readLenders(
  client: ArchiveReader,
  days: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ day: string }>(
    `select distinct lent.run_date as day
    from public.runs
    join public.tasks on tasks.run_id = runs.id and tasks.state in ('reused', 'not_asked')
    join public.searches on searches.id = tasks.search_id and searches.archived
    join public.tasks as own on own.id = searches.task_id
    join public.runs as lent on lent.id = own.run_id
    where lent.run_date <> all ($1::date[])
      and (runs.run_date = any ($1::date[]) or runs.run_date not in (select run_date from public.archived_days))`,
    [[...days]],
  )
  return rows.map(({ day }) => day)
}

/** Tables, columns and functions in the plan of a question. */
interface PlannedReading {
  /** For each table of this connection, every word that the plan says of reading it: each column that is read is among them. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>
  /** Functions that it calls; what these read, the plan does not show. */
  readonly functions: readonly string[]
}

/** A step of a plan, with the steps below it. */
interface Step {
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Step[]
}

interface Planned {
  readonly 'QUERY PLAN': readonly { readonly Plan: Step }[]
}

/**
 * Plans a question over tables that the archive was added to and not yet read into; null where that cannot be told. Tables
 * that inherit are read column by column, so that a plan names no column of theirs that nobody needs; and they have no
 * index, so that it names all that are.
 */
async function planQuestion(client: ArchiveReader, text: string): Promise<PlannedReading | null> {
  const question = text
    .trim()
    .replace(/(;|\s|--[^\n]*$)+$/, '')
    // Whatever is asked for: a plan for one value may read less than one for another.
    .replaceAll(/\$\d+/g, "current_setting('querymill.asked', true)")
  await client.query('begin read only')
  try {
    const reader = await findReader(client)
    // Planning may call functions that somebody else has made.
    if (reader !== null) await client.query(`set local role ${reader}`)
    const plan: pg.QueryResult<Planned> = await client.query(explaining(question))
    const words = new Map<string, Set<string>>()
    for (const { Plan: step } of plan.rows[0]?.['QUERY PLAN'] ?? []) gatherWords(step, words)
    const called = wordsOf(plan.rows)
    const { rows } = await client.query<{ name: string }>(
      `select distinct proname as name
      from pg_proc
      where pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`,
    )
    return { words, functions: rows.map(({ name }) => name).filter((name) => called.has(name)) }
  } catch {
    // Whatever is wrong with it is told when it is asked.
    return null
  } finally {
    await client.query('rollback')
  }
}

/** As one statement: what stands behind a second semicolon would be run. */
function explaining(question: string): pg.QueryConfig {
  const asked = { text: `explain (verbose, format json) ${question}`, queryMode: 'extended' }
  return asked
}

function gatherWords(step: Step, words: Map<string, Set<string>>): void {
  const { 'Relation Name': table, Plans: below = [], ...said } = step
  if (table !== undefined) {
    const found = words.get(table) ?? new Set()
    words.set(table, new Set([...found, ...wordsOf(said)]))
  }
  for (const each of below) gatherWords(each, words)
}

/** The words of something, and the sign for a row as a whole. */
function wordsOf(said: unknown): ReadonlySet<string> {
  const found = JSON.stringify(said).toLowerCase()
  return new Set([...found.matchAll(/\w+|\.\*/g)].map(([word]) => word))
}

/** Columns of a table that no row may be without. */
async function readRequired(client: ArchiveReader, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name
    from pg_attribute
    where attrelid = to_regclass('public.' || quote_ident($1)) and attnum > 0 and attnotnull`,
    [table],
  )
  return rows.map(({ name }) => name)
}
