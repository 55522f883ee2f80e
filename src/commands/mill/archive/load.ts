import { enterRows, type RowEntry } from '../../../store/archive/enter.ts'
import {
  addTables,
  enterDays,
  filling,
  loadedTable,
  readLenders,
  settleTables,
  type ArchiveReader,
} from '../../../store/archive/load.ts'
import { archivedTables } from '../../../store/archive/tables.ts'
import { planQuestion, readRequired } from '../../../store/archive/plan.ts'
import { readArchivedDays, takeArchive, type ArchivedDay } from '../../../store/archive/days.ts'
import type { Database } from '../../../store/database.ts'
import { withEngine, type ParquetEngine } from './engine.ts'
import { readFiledColumns, readFiled, type FiledPlace } from './files.ts'
import { readManifest, type Manifest, type ManifestTable } from './manifest.ts'
import { tablesOf, columnsRead } from './needs.ts'
import type { ArchivePlace } from './place.ts'

/** Which part of the archive a question is asked over, and where it lies. */
export interface ArchiveReading {
  readonly db: Database
  readonly installation: string
  /** The question: what it cannot read is not loaded. */
  readonly text: string
  /** Days of the archive; undefined: all of them. */
  readonly span?: { readonly since: string; readonly until: string } | undefined
  /** Where the archive lies now; undefined: where each day was written. */
  readonly folder?: string | undefined
  readonly places: (address: string) => ArchivePlace
  readonly tell: (line: string) => void
}

const keys = new Map(archivedTables.map(({ name, key }) => [name, key]))
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
    new Map(filled.map((name) => [name, keys.get(name) ?? [...idOf[name as 'loaded_days']]])),
  )
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const away = all.length - asked.length
  reading.tell(
    `read ${rows} rows of ${days.size} days from the archive in ${seconds} s${away === 0 ? '' : `; ${away} others were left out`}`,
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
    const always = [...(keys.get(table) ?? []), ...(await readRequired(client, table))]
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
  const filed = { engine, place, version: manifest.version }
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
