import { enterRows } from '../../../store/archive/enter.ts'
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
import { readArchivedDays, takeArchive, type ArchivedDay } from '../../../store/archive/days.ts'
import type { Database } from '../../../store/database.ts'
import { withEngine, type ParquetEngine } from './engine.ts'
import { readFiled, readFiledColumn, type FiledPlace } from './files.ts'
import { readManifest, type Manifest } from './manifest.ts'
import { tablesOf } from './needs.ts'
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
  let rows = 0
  await withEngine(async (engine) => {
    for (const day of [...asked, ...lent]) {
      rows += await loadDay(client, { engine, day, tables, reading })
    }
  })
  await filling(client, () => enterDays(client, [...days]))
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

async function loadDay(
  client: ArchiveReader,
  {
    engine,
    day,
    tables,
    reading: { folder = day.folder, places, installation },
  }: {
    readonly engine: ParquetEngine
    readonly day: ArchivedDay
    readonly tables: readonly string[]
    readonly reading: ArchiveReading
  },
): Promise<number> {
  const place = places(folder)
  const manifest = await readManifest(day, { place, installation })
  const filed = { engine, place, version: manifest.version }
  return filling(client, async () => {
    let rows = 0
    for (const table of manifest.tables) {
      if (!tables.includes(table.table)) continue
      const entry = { table: loadedTable(table.table), columns: table.columns }
      rows += await enterRows(client, entry, readFiled(filed, table))
    }
    await loadAnswers(client, filed, manifest)
    return rows
  })
}

/** Which answers are there again. */
async function loadAnswers(
  client: ArchiveReader,
  filed: FiledPlace,
  { tables }: Manifest,
): Promise<void> {
  const table = tables.find((each) => each.table === 'searches')
  if (table === undefined) return
  const entry = {
    table: loadedTable('loaded_answers'),
    columns: [{ name: 'search_id', type: 'bigint' }],
  }
  await enterRows(client, entry, readFiledColumn(filed, table, 'id'))
}
