// Reads and writes an archive folder. New files are drafts until they are published.

import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { callerPath, type Environment } from '../../base/config.ts'
import { codeOf, Misuse } from '../../base/errors.ts'
import { unwritable } from './engine.ts'

/** Resolves the path of an archive folder, relative to the user's current folder. */
export function archivePath(env: Environment, typed: string): string {
  if (!/^[a-z\d+.-]+:\/\//i.test(typed)) return callerPath(env, typed)
  throw new Misuse(
    `expected a folder, got ${JSON.stringify(typed)}; specify a local folder, and copy the archive with another program`,
  )
}

/** An archive folder. Files are named by their paths relative to this folder. */
export class ArchiveFolder {
  readonly path: string
  readonly #drafted = new Map<string, string>()
  readonly #mark = `${process.pid}-${randomBytes(4).toString('hex')}`

  constructor(path: string) {
    this.path = path
  }

  where(name: string): string {
    return join(this.path, name)
  }

  async readText(name: string): Promise<string | null> {
    const path = this.where(name)
    try {
      return await readFile(path, 'utf8')
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null
      throw new Misuse(
        `expected ${path} to be a readable file, got ${codeOf(cause) ?? 'an error'}; fix the problem, then run the same command again`,
        { cause },
      )
    }
  }

  async list(folder: string, prefix: string): Promise<readonly string[]> {
    try {
      const names = await readdir(this.where(folder))
      return names.filter((name) => name.startsWith(prefix)).map((name) => `${folder}/${name}`)
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return []
      throw cause
    }
  }

  async claim(installation: string): Promise<void> {
    await changing(this.path, () => mkdir(this.path, { recursive: true }))
    const there = await this.readText('archive.json')
    if (there === null) {
      const said = { archive: 'querymill', version: 1, installation }
      await this.write('archive.json', `${JSON.stringify(said, null, 2)}\n`)
      await this.publish()
    } else if (!there.includes(`"${installation}"`)) {
      throw new Misuse(
        `expected ${this.path} to be empty or an archive of this database, got an archive of another installation; choose another folder`,
      )
    }
  }

  /** Creates a file with a name that readers ignore. */
  async draft(name: string): Promise<FileHandle> {
    const path = this.where(this.draftName(name))
    this.#drafted.set(name, path)
    return changing(path, async () => {
      await mkdir(dirname(path), { recursive: true })
      return open(path, 'wx')
    })
  }

  draftName(name: string): string {
    return `${name}.${this.#mark}.part`
  }

  async write(name: string, text: string): Promise<void> {
    const handle = await this.draft(name)
    try {
      await changing(this.where(name), async () => {
        await handle.writeFile(text)
        await handle.sync()
      })
    } finally {
      await handle.close()
    }
  }

  /** Renames all drafts to their final names, and replaces existing files. */
  async publish(): Promise<void> {
    const folders = new Set<string>()
    for (const [name, draft] of this.#drafted) {
      const path = this.where(name)
      await changing(path, () => rename(draft, path))
      folders.add(dirname(path)).add(dirname(dirname(path)))
    }
    this.#drafted.clear()
    for (const folder of folders) await changing(folder, () => syncFolder(folder))
  }

  async abandon(): Promise<void> {
    for (const draft of this.#drafted.values()) await rm(draft, { force: true })
    this.#drafted.clear()
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await changing(this.where(name), () => rm(this.where(name), { force: true }))
    }
  }
}

async function changing<T>(path: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (cause) {
    throw unwritable(path, cause, 'name another folder')
  }
}

/** Syncs a folder to disk. A rename is durable only after the folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
