import { basename, dirname } from 'node:path'
import { Misuse, reasonOf, Unreachable } from '../../shared/errors.ts'
import type { Archivist } from '../../store/archive/days.ts'
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

async function holdKnown({ client, folder }: Way, manifest: Manifest, path: string) {
  const table = manifest.tables.find((each) => each.table === 'searches')
  if (table === undefined) return
  const at = table.columns.findIndex(({ name }) => name === 'id')
  try {
    for await (const rows of readFiled(folder.place, table)) {
      const ids = rows.map((row) => row[at])
      const { rows: missing } = await client.query(
        `select id from unnest($1::bigint[]) as given (id)
        where id not in (select search_id from pg_temp.leaving)
        limit 1`,
        [ids],
      )
      if (missing.length > 0) throw new Misuse('answers that are not in the tables')
    }
  } catch (cause) {
    if (cause instanceof Unreachable) throw cause
    throw new Misuse(
      `expected ${path} to be left over from an archive that was cut short, got ${reasonOf(cause)}; nothing was changed: move it away, or name another folder`,
      { cause },
    )
  }
}
