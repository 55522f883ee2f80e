import { constants } from 'node:fs'
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { csvLines } from '../csv.ts'
import type { Rejection } from './rows.ts'

const header = ['line', 'reason', 'content'] as const
const ending = '.rejected.csv'

/** Beside the list, under its name. */
export function rejectsPath(list: string): string {
  return join(dirname(list), `${basename(list, extname(list))}${ending}`)
}

/** Where the rejected lines went, and whether it is beside the list. */
export interface RejectsFile {
  readonly path: string
  readonly beside: boolean
}

/**
 * Writes the rejected lines beside their list, or into `home` when that cannot be: the folder may be read-only, or
 * hold a file of that name which is not ours to replace.
 */
export async function writeRejects(
  list: string,
  home: string,
  pages: () => AsyncIterable<readonly Rejection[]>,
): Promise<RejectsFile> {
  const path = rejectsPath(list)
  if ((await isOurs(path)) && (await tryWrite(path, pages()))) return { path, beside: true }
  const folder = join(home, 'rejected')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const other = join(folder, basename(path))
  await write(other, pages())
  return { path: other, beside: false }
}

/** Takes away what an earlier reading left, now that no line is rejected. */
export async function removeRejects(list: string): Promise<void> {
  const path = rejectsPath(list)
  if ((await firstLine(path)) === csvLines([header])) await rm(path, { force: true })
}

async function isOurs(path: string): Promise<boolean> {
  const line = await firstLine(path)
  return line === undefined || line === csvLines([header])
}

/** Undefined when nothing is there; an empty text for what cannot be read, or is no file of its own. */
async function firstLine(path: string): Promise<string | undefined> {
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? undefined : ''
  }
  try {
    if (!(await handle.stat()).isFile()) return ''
    const size = csvLines([header]).length
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

async function tryWrite(
  path: string,
  pages: AsyncIterable<readonly Rejection[]>,
): Promise<boolean> {
  try {
    await write(path, pages)
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'ENOSPC', 'EDQUOT'].includes(code))
      return false
    throw error
  }
}

/** Written whole under another name first: a reader never sees half of it, and a link in its place is not followed. */
async function write(path: string, pages: AsyncIterable<readonly Rejection[]>): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}`)
  const handle = await open(draft, 'wx', 0o644)
  try {
    await handle.write(csvLines([header]))
    for await (const rows of pages) {
      await handle.write(csvLines(rows.map(({ line, reason, content }) => [line, reason, content])))
    }
    await handle.close()
    await rename(draft, path)
  } catch (error) {
    await handle.close()
    await rm(draft, { force: true })
    throw error
  }
}
