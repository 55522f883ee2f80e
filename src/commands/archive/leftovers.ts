import { basename, dirname } from 'node:path'
import { Misuse, reasonOf, Unreachable } from '../../shared/errors.ts'
import type { Archivist } from '../../store/archive/days.ts'
import { areStrange, stageRows } from '../../store/archive/enter.ts'
import type { ParquetEngine } from '../mill/archive/engine.ts'
import { readFiled } from '../mill/archive/files.ts'
import {
  filePath,
  manifestPath,
  parseManifest,
  type Manifest,
  type ManifestTable,
} from '../mill/archive/manifest.ts'
import type { ArchiveTarget } from './target.ts'

interface Way {
  readonly client: Archivist
  readonly engine: ParquetEngine
  readonly folder: ArchiveTarget
  readonly installation: string
}

type Part = { readonly run_date: string; readonly part: number }

/**
 * Removes what an archive left that was cut short: files of a day that the database knows nothing of. Answers that the
 * database does not have are no leftovers: then the database is an older copy, and nothing of them is touched.
 */
export async function clearWay(
  way: Way,
  of: Part,
  tables: readonly ManifestTable[],
): Promise<void> {
  const { folder, installation } = way
  const { place } = folder
  const text = await place.readText(manifestPath(of))
  if (text !== null) {
    const path = place.where(manifestPath(of))
    await holdKnown(way, parseManifest(text, path, installation), path)
    await folder.remove([manifestPath(of)])
  }
  const ours = new Set(
    tables.flatMap(({ files }) => files.map((file) => folder.draftName(file.path))),
  )
  for (const { table } of tables) {
    const lies = dirname(filePath(table, of, 1))
    const found = await place.list(lies)
    const old = found
      .filter((name) => name.startsWith(`${of.part}-`))
      .map((name) => `${lies}/${name}`)
    await folder.remove(old.filter((name) => !ours.has(name)))
  }
  const manifest = basename(manifestPath(of))
  const drafts = (await place.list('days')).filter(
    (name) => name.startsWith(manifest) && name !== manifest,
  )
  await folder.remove(drafts.map((name) => `days/${name}`))
}

async function holdKnown({ client, engine, folder }: Way, manifest: Manifest, path: string) {
  const table = manifest.tables.find((each) => each.table === 'searches')
  if (table === undefined) return
  try {
    const filed = { engine, place: folder.place, version: manifest.version }
    await stageRows(client, table, readFiled(filed, table))
    if (await areStrange(client)) throw new Misuse('answers that are not in the tables')
  } catch (cause) {
    if (cause instanceof Unreachable) throw cause
    throw new Misuse(
      `expected ${path} to be left over from an archive that was cut short, got ${reasonOf(cause)}; nothing was changed: move it away, or name another folder`,
      { cause },
    )
  }
}
