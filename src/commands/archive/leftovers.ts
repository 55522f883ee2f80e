import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf, Misuse, reasonOf } from '../../shared/errors.ts'
import type { Archivist } from '../../store/archive/days.ts'
import { areStrange, stageRows } from '../../store/archive/enter.ts'
import type { ParquetEngine } from '../mill/archive/engine.ts'
import { readFiled } from '../mill/archive/files.ts'
import {
  filePath,
  findManifest,
  manifestPath,
  parseManifest,
  type Manifest,
  type ManifestTable,
} from '../mill/archive/manifest.ts'
import type { ArchiveFolder } from './folder.ts'

interface Place {
  readonly client: Archivist
  readonly engine: ParquetEngine
  readonly folder: ArchiveFolder
  readonly installation: string
}

type Part = { readonly run_date: string; readonly part: number }

/**
 * Removes what an archive left that was cut short: files of a day that the database knows nothing of. Answers that the
 * database does not have are no leftovers: then the database is an older copy, and nothing of them is touched.
 */
export async function clearWay(
  place: Place,
  of: Part,
  tables: readonly ManifestTable[],
): Promise<void> {
  const { folder, installation } = place
  const text = await findManifest(folder.path, of)
  if (text !== null) {
    const path = join(folder.path, manifestPath(of))
    await holdKnown(place, parseManifest(text, path, installation), path)
    await folder.remove([manifestPath(of)])
  }
  const ours = new Set(
    tables.flatMap(({ files }) => files.map((file) => folder.draftName(file.path))),
  )
  for (const { table } of tables) {
    const lies = dirname(filePath(table, of, 1))
    const found = await namesIn(join(folder.path, lies))
    const old = found
      .filter((name) => name.startsWith(`${of.part}-`))
      .map((name) => `${lies}/${name}`)
    await folder.remove(old.filter((name) => !ours.has(name)))
  }
  const manifest = basename(manifestPath(of))
  const drafts = (await namesIn(join(folder.path, 'days'))).filter(
    (name) => name.startsWith(manifest) && name !== manifest,
  )
  await folder.remove(drafts.map((name) => `days/${name}`))
}

async function holdKnown({ client, engine, folder }: Place, manifest: Manifest, path: string) {
  const table = manifest.tables.find((each) => each.table === 'searches')
  if (table === undefined) return
  try {
    const place = { engine, folder: folder.path, version: manifest.version }
    await stageRows(client, table, readFiled(place, table))
    if (await areStrange(client)) throw new Misuse('answers that are not in the tables')
  } catch (cause) {
    throw new Misuse(
      `expected ${path} to be left over from an archive that was cut short, got ${reasonOf(cause)}; nothing was changed: move it away, or name another folder`,
      { cause },
    )
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return []
    throw cause
  }
}
