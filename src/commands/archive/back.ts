import { join } from 'node:path'
import { Misuse, WrongDatabase } from '../../shared/errors.ts'
import type { ArchivedDay, Archivist } from '../../store/archive/days.ts'
import {
  crossOut,
  enterRows,
  enterStaged,
  stageRows,
  unmarkAnswers,
} from '../../store/archive/enter.ts'
import { inArchiving } from '../../store/archive/leave.ts'
import { namingTables, readColumns } from '../../store/archive/tables.ts'
import type { ParquetEngine } from '../mill/archive/engine.ts'
import { readFiled, type FiledPlace } from '../mill/archive/files.ts'
import {
  manifestPath,
  readManifest,
  type Manifest,
  type ManifestTable,
} from '../mill/archive/manifest.ts'
import type { ArchivePlace } from '../mill/archive/place.ts'

/** Where a day comes back from. */
export interface Return {
  readonly client: Archivist
  readonly engine: ParquetEngine
  readonly place: ArchivePlace
  readonly installation: string
}

/** Brings a day back into the tables, all of it or nothing; gives how many rows, and its files, which nobody needs now. */
export async function bringBack(
  { client, engine, place, installation }: Return,
  day: ArchivedDay,
): Promise<{ readonly rows: number; readonly files: readonly string[] }> {
  const manifest = await readManifest(day, { place, installation })
  const filed = { engine, place, version: manifest.version }
  const rows = await inArchiving(client, () => enterDay(client, { filed, manifest, day }))
  const files = manifest.tables.flatMap((table) => table.files.map(({ path }) => path))
  return { rows, files: [manifestPath(day), ...files] }
}

async function enterDay(
  client: Archivist,
  {
    filed,
    manifest,
    day,
  }: { readonly filed: FiledPlace; readonly manifest: Manifest; readonly day: ArchivedDay },
): Promise<number> {
  for (const name of namingTables) {
    const table = tableOf(manifest, name)
    const columns = await heldColumns(client, table)
    await stageRows(client, table, readFiled(filed, table))
    await enterStaged(client, { table: name, columns })
  }
  let rows = 0
  for (const table of manifest.tables.filter(({ kind }) => kind === 'moved')) {
    await heldColumns(client, table)
    const entry = { table: `public.${table.table}`, columns: table.columns }
    rows += await enterRows(client, entry, readFiled(filed, table))
  }
  const searches = tableOf(manifest, 'searches')
  await stageRows(client, searches, readFiled(filed, searches))
  const back = await unmarkAnswers(client)
  if (back !== day.answers || rows !== day.moved_rows) {
    throw new WrongDatabase(
      `expected ${day.answers} answers with ${day.moved_rows} rows of ${day.run_date} to come back, got ${back} with ${rows}; nothing was changed: npm run verify says more`,
    )
  }
  if (!(await crossOut(client, day))) {
    throw new WrongDatabase(
      `expected ${day.run_date} to be in the archive, got nothing written down of it; nothing was changed`,
    )
  }
  return rows
}

/** The table is as it was when the day left; gives the columns that it does not make itself. */
async function heldColumns(client: Archivist, { table, columns }: ManifestTable) {
  const there = await readColumns(client, { name: table })
  return columns.filter(({ name, type }) => {
    const now = there.find((column) => column.name === name)
    if (now?.typeName !== type) {
      throw new WrongDatabase(
        `expected ${table} to have a column ${name} of type ${type} as when the day was archived, got ${now?.typeName ?? 'none'}; nothing was changed`,
      )
    }
    return !now.generated
  })
}

function tableOf(manifest: Manifest, name: string): ManifestTable {
  const table = manifest.tables.find((each) => each.table === name)
  if (table === undefined) {
    throw new Misuse(
      `expected ${name} in ${join('days', `${manifest.run_date}.${manifest.part}.json`)}, got a manifest without it; put back the file as it was written`,
    )
  }
  return table
}
