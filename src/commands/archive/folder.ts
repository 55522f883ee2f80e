import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ArchiveTarget } from './target.ts'

/** A folder of the archive, with the drafts that lie in it until they get their names. */
export class ArchiveFolder extends ArchiveTarget {
  override readonly place = this.drafts

  override async publish(): Promise<void> {
    const folders = new Set<string>()
    for (const [name, draft] of this.drafted) {
      const path = join(this.path, name)
      await this.doing(path, () => rename(draft, path))
      folders.add(dirname(path)).add(dirname(dirname(path)))
    }
    this.drafted.clear()
    for (const folder of folders) await this.doing(folder, () => syncFolder(folder))
  }

  /** The disk holds what was read back, under another name. */
  override async confirm(): Promise<void> {}

  override async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.path, name)
      await this.doing(path, () => rm(path, { force: true }))
    }
  }

  override async close(): Promise<void> {}
}

/** A new name is on the disk when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
