// Write access to an archive in a folder or a bucket.

import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Misuse, Unreachable } from '../../base/errors.ts'
import type { Mill } from '../../core/mill.ts'
import { BucketPlace } from './bucket.ts'
import { type ArchivePlace, readBucketAddress } from './place.ts'
import { FolderPlace } from './places.ts'
import { unwritable } from './scratch.ts'

/** Write access to an archive: files are drafts in a local folder until they are published. */
export abstract class ArchiveTarget {
  /** Read access to published files. */
  abstract readonly place: ArchivePlace
  /** Folder of the drafts. */
  readonly path: string
  /** The same folder, for reading drafts. */
  readonly drafts: ArchivePlace
  protected readonly drafted = new Map<string, string>()
  readonly #mark = `${process.pid}-${randomBytes(4).toString('hex')}`

  constructor(path: string) {
    this.path = path
    this.drafts = new FolderPlace(path)
  }

  /** Publishes all drafts under their names, replacing existing files. */
  abstract publish(): Promise<void>

  /** Checks that published files are identical to their drafts. */
  abstract confirm(
    files: readonly { readonly path: string; readonly sha256: string }[],
  ): Promise<void>

  /** Deletes files from the archive, in this order. */
  abstract remove(names: readonly string[]): Promise<void>

  /** Deletes all local files that are not part of the archive. */
  abstract close(): Promise<void>

  /** Creates or opens the location; rejects one that contains another installation's archive. */
  async claim(installation: string): Promise<void> {
    await this.doing(this.path, () => mkdir(this.path, { recursive: true }))
    const there = await this.place.readText('archive.json')
    const said = `${JSON.stringify({ archive: 'querymill', version: 1, installation }, null, 2)}\n`
    if (there === null) {
      await this.write('archive.json', said)
      await this.publish()
    } else if (!there.includes(`"${installation}"`)) {
      throw new Misuse(
        `expected ${this.place.address} to be empty or an archive of this database, got one of another installation; choose another folder or bucket`,
      )
    }
  }

  /** Creates a file under a name that readers ignore. */
  async draft(name: string): Promise<FileHandle> {
    const path = join(this.path, this.draftName(name))
    this.drafted.set(name, path)
    return this.doing(path, async () => {
      await mkdir(dirname(path), { recursive: true })
      return open(path, 'wx')
    })
  }

  /** Path of a draft within the folder. */
  draftName(name: string): string {
    return `${name}.${this.#mark}.part`
  }

  /** Writes a small file as a draft. */
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

  /** Discards unpublished drafts. */
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

/** Finds archive targets by address; opens each once. */
export function openTargets(mill: Pick<Mill, 'config' | 'installation'>) {
  const targets = new Map<string, ArchiveTarget>()
  return (address: string): ArchiveTarget => {
    const target = targets.get(address) ?? openTarget(address, mill)
    targets.set(address, target)
    return target
  }
}

function openTarget(
  address: string,
  { config, installation }: Pick<Mill, 'config' | 'installation'>,
): ArchiveTarget {
  const bucket = readBucketAddress(address)
  if (bucket === null) return new ArchiveFolder(address)
  // The archive lock makes this command the only user of the folder.
  const folder = join(config.home, 'archive', installation)
  return new ArchiveUpload(new BucketPlace(bucket, config.bucket), folder)
}

/** Archive folder that also contains the drafts until they are published. */
class ArchiveFolder extends ArchiveTarget {
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

  /** Nothing to do: the files were read back before they were renamed. */
  override async confirm(): Promise<void> {}

  override async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.path, name)
      await this.doing(path, () => rm(path, { force: true }))
    }
  }

  override async close(): Promise<void> {}
}

/** A rename is durable once its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Archive in a bucket; its drafts are in a folder used only by this command. */
class ArchiveUpload extends ArchiveTarget {
  override readonly place: BucketPlace

  constructor(bucket: BucketPlace, folder: string) {
    super(folder)
    this.place = bucket
  }

  /** Deletes files left by a killed archive command. */
  override async claim(installation: string): Promise<void> {
    await this.close()
    await super.claim(installation)
  }

  override async publish(): Promise<void> {
    for (const [name, draft] of this.drafted) {
      await this.place.put(name, draft)
      await rm(draft, { force: true })
      this.drafted.delete(name)
    }
  }

  /** Downloads the files again, because the connection or bucket may have altered them. */
  override async confirm(
    files: readonly { readonly path: string; readonly sha256: string }[],
  ): Promise<void> {
    for (const { path, sha256 } of files) {
      const found = await this.place.hash(path)
      if (found === sha256) continue
      throw new Unreachable(
        `expected ${this.place.where(path)} to hold what was uploaded (sha256 ${sha256}), got ${found}; no row was removed, run the same command again`,
      )
    }
  }

  override async remove(names: readonly string[]): Promise<void> {
    for (const name of names) await this.place.remove(name)
  }

  override async close(): Promise<void> {
    await this.doing(this.path, () => rm(this.path, { recursive: true, force: true }))
  }
}
