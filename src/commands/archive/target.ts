import { randomBytes } from 'node:crypto'
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Misuse } from '../../shared/errors.ts'
import { unwritable } from '../mill/archive/disk.ts'
import type { ArchivePlace } from '../mill/archive/place.ts'
import { FolderPlace } from '../mill/archive/places.ts'

/** Where an archive is written: files are drafts in a folder of this machine until they get their names. */
export abstract class ArchiveTarget {
  /** What has its name. */
  abstract readonly place: ArchivePlace
  /** The folder that drafts lie in. */
  readonly path: string
  /** That folder, for whoever reads drafts. */
  readonly drafts: ArchivePlace
  protected readonly drafted = new Map<string, string>()
  readonly #mark = `${process.pid}-${randomBytes(4).toString('hex')}`

  constructor(path: string) {
    this.path = path
    this.drafts = new FolderPlace(path)
  }

  /** Gives all drafts their names; what had a name before is replaced. */
  abstract publish(): Promise<void>

  /** Files with a name are what they were as drafts, wherever they have gone since. */
  abstract confirm(
    files: readonly { readonly path: string; readonly sha256: string }[],
  ): Promise<void>

  /** Takes files out of the archive, the first one first. */
  abstract remove(names: readonly string[]): Promise<void>

  /** Leaves nothing behind on this machine but what is in the archive. */
  abstract close(): Promise<void>

  /** Makes the place, or finds it: one that holds another installation's archive is refused. */
  async claim(installation: string): Promise<void> {
    await this.doing(this.path, () => mkdir(this.path, { recursive: true }))
    const there = await this.place.readText('archive.json')
    const said = `${JSON.stringify({ archive: 'querymill', version: 1, installation }, null, 2)}\n`
    if (there === null) {
      await this.write('archive.json', said)
      await this.publish()
    } else if (!there.includes(`"${installation}"`)) {
      throw new Misuse(
        `expected ${this.place.address} to be empty or an archive of this database, got one of another installation; name another place`,
      )
    }
  }

  /** Begins a file under a name that no reader looks for. */
  async draft(name: string): Promise<FileHandle> {
    const path = join(this.path, this.draftName(name))
    this.drafted.set(name, path)
    return this.doing(path, async () => {
      await mkdir(dirname(path), { recursive: true })
      return open(path, 'wx')
    })
  }

  /** Where a draft lies, as a path below the folder. */
  draftName(name: string): string {
    return `${name}.${this.#mark}.part`
  }

  /** A small file as a draft. */
  async write(name: string, text: string): Promise<void> {
    const handle = await this.draft(name)
    try {
      await this.doing(join(this.path, name), async () => {
        await handle.writeFile(text)
        await handle.sync()
      })
    } finally {
      await handle.close()
    }
  }

  /** Throws away what has no name yet. */
  async abandon(): Promise<void> {
    for (const draft of this.drafted.values()) await rm(draft, { force: true })
    this.drafted.clear()
  }

  protected async doing<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      throw unwritable(path, cause, 'name another folder')
    }
  }
}
