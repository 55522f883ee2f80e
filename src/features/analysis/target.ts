// Writes an export's output file, and replaces an existing file only when the new one is complete.
import { rmSync } from 'node:fs'
import { open, readlink, realpath, rename, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { codeOf, Misuse } from '../../base/errors.ts'

export type Target = Awaited<ReturnType<typeof findTarget>>

/** Formats by file extension, including unsupported formats. */
const promised: Readonly<Record<string, string>> = {
  '.csv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
  '.parquet': 'parquet',
  '.html': 'html',
  '.htm': 'html',
  '.pdf': 'pdf',
  '.xlsx': 'xlsx',
  '.xls': 'xls',
  '.ods': 'ods',
  '.gz': 'gzip',
  '.zst': 'zstd',
  '.bz2': 'bzip2',
  '.xz': 'xz',
  '.zip': 'zip',
}

const reasons: Readonly<Record<string, string>> = {
  EISDIR: 'a folder; name a file in it',
  ENOENT: 'a file in a folder that does not exist; create the folder first',
  ENOTDIR: 'a path that uses a file as a folder; check the path',
  ELOOP: 'a link to itself; choose another file',
  EACCES: 'a file that this user is not allowed to write; choose another file',
  EPERM: 'a file that this user is not allowed to write; choose another file',
  EROFS: 'a file on a read-only file system; choose another file',
  ENXIO: 'a pipe, a socket or a device; choose a file',
  ENOSPC: 'no disk space left; free up space, or choose another file',
  EDQUOT: 'no disk space left; free up space, or choose another file',
}

/** Returns the format for the extension of a file or its link target, or null if the extension is unknown. */
export function promisedFormat({ shown, path }: Target): string | null {
  const [typed, end] = [shown, path].map((name) => promised[extname(name).toLowerCase()])
  return typed ?? end ?? null
}

/** Finds the file at a path. Rejects folders, pipes and devices, which must not be replaced. */
export async function findTarget(path: string, shown: string) {
  try {
    const there = await stat(path).catch(nullIfAbsent)
    if (there?.isDirectory() === true) throw unwritable(shown, { code: 'EISDIR' })
    if (there?.isFile() === false) throw unwritable(shown, { code: 'ENXIO' })
    return { shown, path: await endOf(path) }
  } catch (cause) {
    throw unwritable(shown, cause)
  }
}

/** Resolves a path, even if the file does not exist yet. */
async function endOf(path: string): Promise<string> {
  const end = await realpath(path).catch(nullIfAbsent)
  if (end !== null) return end
  const link = await readlink(path).catch(nullIfAbsent)
  return link === null ? path : endOf(resolve(await realpath(dirname(path)), link))
}

/** Writes chunks to a draft, which replaces the file atomically. */
export async function writeTarget(
  { shown, path }: Target,
  pieces: Iterable<string> | AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const fail = (cause: unknown) => {
    throw unwritable(shown, cause)
  }
  // Two commands that write the same file must not share a draft, so the draft's name is unique.
  const part = `${path}.${process.pid}.part`
  const drop = () => rmSync(part, { force: true })
  // The draft is also deleted on exit, because Ctrl-C ends the process without any other cleanup.
  process.once('exit', drop)
  try {
    drop()
    // With `wx`, an existing file, which could be a link, causes an error.
    const handle = await open(part, 'wx').catch(fail)
    try {
      // Only write errors are attributed to the target. Read errors are thrown unchanged.
      for await (const piece of pieces) await handle.writeFile(piece).catch(fail)
    } finally {
      await handle.close()
    }
    await rename(part, path).catch(fail)
  } finally {
    process.off('exit', drop)
    drop()
  }
}

function nullIfAbsent(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null
  throw error
}

function unwritable(shown: string, cause: unknown): unknown {
  const code = codeOf(cause)
  if (code === null) return cause
  return new Misuse(`expected ${shown} to be a writable file, got ${reasons[code] ?? code}`, {
    cause,
  })
}
