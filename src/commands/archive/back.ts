import { join } from 'node:path'
import { Misuse, WrongDatabase } from '../../shared/errors.ts'
import type { ArchivedDay, Archivist } from '../../store/archive/days.ts'
import { crossOut, enterRows, unmarkAnswers } from '../../store/archive/enter.ts'
import { inArchiving } from '../../store/archive/leave.ts'
import { namingTables, readColumns } from '../../store/archive/tables.ts'
import { readFiled } from '../mill/archive/files.ts'
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
  readonly place: ArchivePlace
  readonly installation: string
}

/** Brings a day back into the tables, all of it or nothing; gives how many rows, and its files, which nobody needs now. */
export async function bringBack(
  { client, place, installation }: Return,
  day: ArchivedDay,
): Promise<{ readonly rows: number; readonly files: readonly string[] }> {
  const manifest = await readManifest(day, { place, installation })
  const rows = await inArchiving(client, () => enterDay(client, { place, manifest, day }))
  const files = manifest.tables.flatMap((table) => table.files.map(({ path }) => path))
  return { rows, files: [manifestPath(day), ...files] }
}

async function enterDay(
  client: Archivist,
  {
    place,
    manifest,
    day,
  }: { readonly place: ArchivePlace; readonly manifest: Manifest; readonly day: ArchivedDay },
): Promise<number> {
  for (const name of namingTables) {
    const table = tableOf(manifest, name)
    await enterTable(client, place, { table, skipKnown: true })
  }
  let rows = 0
  for (const table of manifest.tables.filter(({ kind }) => kind === 'moved')) {
    rows += await enterTable(client, place, { table, skipKnown: false })
  }
  const back = await unmark(client, place, tableOf(manifest, 'searches'))
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

async function enterTable(
  client: Archivist,
  place: ArchivePlace,
  { table, skipKnown }: { readonly table: ManifestTable; readonly skipKnown: boolean },
): Promise<number> {
  const made = await holdColumns(client, table)
  const entry = {
    table: `public.${table.table}`,
    columns: table.columns.filter((_, at) => !made.has(at)),
    skipKnown,
  }
  let entered = 0
  for await (const rows of readFiled(place, table)) {
    // Small enough for one message to the server.
    for (let at = 0; at < rows.length; at += 2000) {
      const some = rows.slice(at, at + 2000)
      const given = made.size === 0 ? some : some.map((row) => row.filter((__, i) => !made.has(i)))
      entered += await enterRows(client, entry, given)
    }
  }
  return entered
}

/** The table is as it was when the day left; gives the places of columns that it makes itself. */
async function holdColumns(client: Archivist, { table, columns }: ManifestTable) {
  const there = await readColumns(client, { name: table })
  const made = new Set<number>()
  for (const [at, { name, type }] of columns.entries()) {
    const now = there.find((column) => column.name === name)
    if (now?.typeName !== type) {
      throw new WrongDatabase(
        `expected ${table} to have a column ${name} of type ${type} as when the day was archived, got ${now?.typeName ?? 'none'}; nothing was changed`,
      )
    }
    if (now.generated) made.add(at)
  }
  return made
}

async function unmark(
  client: Archivist,
  place: ArchivePlace,
  table: ManifestTable,
): Promise<number> {
  const at = table.columns.findIndex(({ name }) => name === 'id')
  let marked = 0
  for await (const rows of readFiled(place, table)) {
    marked += await unmarkAnswers(
      client,
      rows.map((row) => [row[at] ?? null]),
    )
  }
  return marked
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
