import { open, type FileHandle } from 'node:fs/promises'
import { Misuse } from '../../errors.ts'

/** A JSONL file of pages, opened. */
export interface Pages {
  /** The path as the person typed it. */
  readonly shown: string
  readonly lines: () => AsyncIterable<string>
  readonly close: () => Promise<void>
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'nothing there; check the path',
  EACCES: 'a file that may not be read; change its permissions',
  EISDIR: 'a folder; name the files in it',
  ELOOP: 'a link that leads to itself; name the file',
  ENOTDIR: 'a path through something that is no folder; check the path',
}

/** Opens a file or a pipe; a folder is refused. */
export async function openPages(path: string, shown: string): Promise<Pages> {
  const handle = await open(path).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'an error'
    throw unreadable(shown, code)
  })
  if (await isFolder(handle)) {
    await handle.close()
    throw unreadable(shown, 'EISDIR')
  }
  return { shown, lines: () => handle.readLines(), close: () => handle.close() }
}

async function isFolder(handle: FileHandle): Promise<boolean> {
  return (await handle.stat()).isDirectory()
}

function unreadable(shown: string, code: string): Misuse {
  return new Misuse(`expected ${shown} to be a readable file, got ${reasons[code] ?? code}`)
}
