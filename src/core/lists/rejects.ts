// Writes the rejected lines of a list to a file next to the list.

import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { csvLines } from '../../base/csv.ts'
import { codeOf, reasonOf } from '../../base/errors.ts'
import type { Rejection } from './rows.ts'

const header = csvLines([['line', 'reason', 'content']])

export const rejectsEnding = '.rejected.csv'

/** Returns the path of the file for a list, named after the list and the table. */
export function rejectsPath(list: string, sheet: string | null = null): string {
  const table = sheet === null ? '' : ` (${sheet.replace(/[/\\:*?"<>|\p{Cc}]+/gu, '_')})`
  return join(dirname(list), `${basename(list, extname(list))}${table}${rejectsEnding}`)
}

/** Writes rejected lines, but not over an unrelated file. If this fails, returns the reason. */
export async function writeRejects(
  path: string,
  pages: AsyncIterable<readonly Rejection[]>,
): Promise<string | null> {
  const line = await firstLine(path)
  if (line !== undefined && line !== header) return 'its name is taken or too long'
  // The draft is renamed, so that no reader sees a partial file and no symlink is followed.
  const draft = join(dirname(path), `.rejected.${randomUUID()}`)
  try {
    await writeFile(draft, linesOf(pages), { flag: 'wx', mode: 0o644 })
    await rename(draft, path)
    return null
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    return codeOf(error) ?? reasonOf(error)
  }
}

/** Deletes the file left by an earlier read. */
export async function removeRejects(path: string): Promise<void> {
  if ((await firstLine(path)) !== header) return
  // A file that cannot be deleted is left in place. The authoritative copy of the lines is in the database.
  await rm(path, { force: true }).catch(() => undefined)
}

/** Returns undefined if there is no file, and an empty string if it is unreadable or not a regular file. */
async function firstLine(path: string): Promise<string | undefined> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (!(await handle.stat()).isFile()) return ''
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(header.length), { position: 0 })
    return buffer.toString('utf8', 0, bytesRead)
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : ''
  } finally {
    await handle?.close()
  }
}

async function* linesOf(pages: AsyncIterable<readonly Rejection[]>): AsyncGenerator<string> {
  yield header
  for await (const rows of pages) {
    yield csvLines(rows.map(({ line, reason, content }) => [line, reason, content]))
  }
}
