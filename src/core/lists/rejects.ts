// Writes the rejected lines of a list to a file next to the list.

import { hash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { csvLines } from '../../base/csv.ts'
import { codeOf, reasonOf } from '../../base/errors.ts'
import { lastCharacterEnd } from './encoding.ts'
import type { Rejection } from './rows.ts'

const header = ['line', 'reason', 'content'] as const
const ending = '.rejected.csv'

// In bytes. All common file systems support this length.
const longestName = 255

interface RejectingList {
  /** Null for standard input. */
  readonly path: string | null
  readonly name: string
  /** Table in the file, if the user named a table. */
  readonly sheet?: string | null
  /** Folder for files that can't be written next to their list. */
  readonly home: string
}

type RejectsFile = { readonly path: string } | { readonly path: null; readonly reason: string }

/** Returns the path of a file next to the list, named after the list and the table. */
export function rejectsPath(list: string, sheet: string | null = null): string {
  const stem = stemOf(list, sheet)
  const fits = Buffer.byteLength(stem + ending) <= longestName
  const clear = fits && (sheet === null || stem.endsWith(` (${sheet})`))
  return join(dirname(list), clear ? `${stem}${ending}` : markedName(stem, hashed(list, sheet)))
}

function stemOf(path: string, sheet: string | null): string {
  const stem = basename(path, extname(path))
  return sheet === null ? stem : `${stem} (${sheet.replace(/[/\\:*?"<>|\p{Cc}]+/gu, '_')})`
}

function hashed(path: string, sheet: string | null): string {
  return sheet === null ? path : `${path}\0${sheet}`
}

/** Returns a path in the folder that all lists share. A hash distinguishes lists with the same name. */
function rejectsElsewhere({ path, name, home, sheet = null }: RejectingList): string {
  const stem = path === null ? name : stemOf(path, sheet)
  const safe = stem.replace(/[^\p{L}\p{M}\p{N}_-]+/gu, '_')
  const whole = path === null ? `standard input: ${name}` : hashed(path, sheet)
  return join(home, 'rejected', markedName(safe, whole))
}

/** Truncates a name to the file system's limit and adds part of a hash. */
function markedName(stem: string, whole: string): string {
  const rest = `.${hash('sha256', whole, 'hex').slice(0, 8)}${ending}`
  const most = Buffer.from(stem).subarray(0, longestName - rest.length)
  return `${most.toString('utf8', 0, lastCharacterEnd(most))}${rest}`
}

/** If the list's folder is read-only or contains an unrelated file of that name, writes under the home folder. */
export async function writeRejects(
  list: RejectingList,
  pages: () => AsyncIterable<readonly Rejection[]>,
): Promise<RejectsFile> {
  const other = rejectsElsewhere(list)
  const path = list.path === null ? null : rejectsPath(list.path, list.sheet)
  const isDone = () => true
  if (
    path !== null &&
    (await isOurs(path)) &&
    (await write(path, pages()).then(isDone, () => false))
  ) {
    await removeOurs(other)
    return { path }
  }
  try {
    await mkdir(dirname(other), { recursive: true, mode: 0o700 })
    await write(other, pages())
    return { path: other }
  } catch (error) {
    return { path: null, reason: codeOf(error) ?? reasonOf(error) }
  }
}

/** Removes the files of earlier readings. */
export async function removeRejects(list: RejectingList): Promise<void> {
  if (list.path !== null) await removeOurs(rejectsPath(list.path, list.sheet))
  await removeOurs(rejectsElsewhere(list))
}

async function removeOurs(path: string): Promise<void> {
  if ((await firstLine(path)) !== csvLines([header])) return
  // A file that can't be deleted stays. The authoritative copy of the lines is in the database.
  await rm(path, { force: true }).catch(() => undefined)
}

async function isOurs(path: string): Promise<boolean> {
  const line = await firstLine(path)
  return line === undefined || line === csvLines([header])
}

/** Returns undefined if there is no file, and an empty string if it is unreadable or not a regular file. */
async function firstLine(path: string): Promise<string | undefined> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (!(await handle.stat()).isFile()) return ''
    const size = csvLines([header]).length
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : ''
  } finally {
    await handle?.close()
  }
}

/** Writes a temporary file first and renames it, so that no reader sees a partial file and no symlink is followed. */
async function write(path: string, pages: AsyncIterable<readonly Rejection[]>): Promise<void> {
  const draft = join(dirname(path), `.rejected.${randomUUID()}`)
  try {
    await writeFile(draft, linesOf(pages), { flag: 'wx', mode: 0o644 })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    throw error
  }
}

async function* linesOf(pages: AsyncIterable<readonly Rejection[]>): AsyncGenerator<string> {
  yield csvLines([header])
  for await (const rows of pages) {
    yield csvLines(rows.map(({ line, reason, content }) => [line, reason, content]))
  }
}
