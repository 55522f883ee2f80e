import { open, type FileHandle } from 'node:fs/promises'
import { unreadable } from '../../shared/errors.ts'

/** A JSONL file of pages, opened. */
export interface PageFile {
  /** The path as the person typed it. */
  readonly shown: string
  readonly lines: () => AsyncIterable<string>
  readonly close: () => Promise<void>
}

const folder = 'a folder; name the files in it'

/** Opens a file or a pipe; a folder is refused. */
export async function openPages(path: string, shown: string): Promise<PageFile> {
  const handle = await open(path).catch((cause: unknown) => {
    throw unreadable(shown, cause, folder)
  })
  if (await isFolder(handle)) {
    await handle.close()
    throw unreadable(shown, { code: 'EISDIR' }, folder)
  }
  return { shown, lines: () => handle.readLines(), close: () => handle.close() }
}

async function isFolder(handle: FileHandle): Promise<boolean> {
  return (await handle.stat()).isDirectory()
}
