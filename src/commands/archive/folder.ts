import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf, Misuse } from '../../shared/errors.ts'

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'one that may not be written; change its permissions, or name another folder',
  EPERM: 'one that may not be written; change its permissions, or name another folder',
  EROFS: 'a file system that may only be read; name another folder',
  ENOSPC: 'no room left; make some, or name another folder',
  EDQUOT: 'no room left; make some, or name another folder',
  ENOTDIR: 'a path through something that is no folder; name another one',
  EEXIST: 'something else there; name another folder',
}

/** A folder of the archive, with the drafts that lie in it until they get their names. */
export class ArchiveFolder {
  readonly path: string
  readonly #drafts = new Map<string, string>()
  readonly #mark = `${process.pid}-${randomBytes(4).toString('hex')}`

  constructor(path: string) {
    this.path = path
  }

  /** Makes the folder, or finds it: one that holds another installation's archive is refused. */
  async claim(installation: string): Promise<void> {
    await this.#doing(this.path, () => mkdir(this.path, { recursive: true }))
    const named = join(this.path, 'archive.json')
    const there = await readFile(named, 'utf8').catch((cause: unknown) => {
      if (codeOf(cause) === 'ENOENT') return null
      throw unwritable(named, cause)
    })
    const said = `${JSON.stringify({ archive: 'querymill', version: 1, installation }, null, 2)}\n`
    if (there === null) {
      await this.write('archive.json', said)
      await this.publish()
    } else if (!there.includes(`"${installation}"`)) {
      throw new Misuse(
        `expected ${this.path} to be empty or an archive of this database, got one of another installation; name another folder`,
      )
    }
  }

  /** Begins a file under a name that no reader looks for. */
  async draft(name: string): Promise<FileHandle> {
    const path = join(this.path, `${name}.${this.#mark}.part`)
    this.#drafts.set(name, path)
    return this.#doing(path, async () => {
      await mkdir(dirname(path), { recursive: true })
      return open(path, 'wx')
    })
  }

  /** Where a draft lies, as a path below the folder. */
  draftName(name: string): string {
    return `${name}.${this.#mark}.part`
  }

  async append(handle: FileHandle, name: string, bytes: Uint8Array): Promise<void> {
    await this.#doing(join(this.path, name), async () => {
      for (let done = 0; done < bytes.length;) {
        done += (await handle.write(bytes, done)).bytesWritten
      }
    })
  }

  /** The file is on the disk when it is closed. */
  async settle(handle: FileHandle, name: string): Promise<void> {
    await this.#doing(join(this.path, name), () => handle.sync())
    await handle.close()
  }

  /** A small file as a draft. */
  async write(name: string, text: string): Promise<void> {
    const handle = await this.draft(name)
    try {
      await this.append(handle, name, Buffer.from(text))
      await this.#doing(join(this.path, name), () => handle.sync())
    } finally {
      await handle.close()
    }
  }

  /** Gives all drafts their names; what had a name before is replaced. */
  async publish(): Promise<void> {
    const folders = new Set<string>()
    for (const [name, draft] of this.#drafts) {
      const path = join(this.path, name)
      await this.#doing(path, () => rename(draft, path))
      folders.add(dirname(path)).add(dirname(dirname(path)))
    }
    this.#drafts.clear()
    for (const folder of folders) await this.#doing(folder, () => syncFolder(folder))
  }

  /** Throws away what has no name yet. */
  async abandon(): Promise<void> {
    for (const draft of this.#drafts.values()) await rm(draft, { force: true })
    this.#drafts.clear()
  }

  /** Takes files out of the archive, the first one first. */
  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.path, name)
      await this.#doing(path, () => rm(path, { force: true }))
    }
  }

  async #doing<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      throw unwritable(path, cause)
    }
  }
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

function unwritable(path: string, cause: unknown): unknown {
  const code = codeOf(cause)
  if (code === null || cause instanceof Misuse) return cause
  return new Misuse(
    `expected ${path} to be a place that can be written, got ${reasons[code] ?? code}`,
    { cause },
  )
}
