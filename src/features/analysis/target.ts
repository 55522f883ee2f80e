// Writes an export's output file, and replaces an existing file only when the new one is complete.
import { rmSync } from 'node:fs'
import {
  constants,
  type FileHandle,
  open,
  readlink,
  realpath,
  rename,
  stat,
} from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { codeOf, Misuse } from '../../base/errors.ts'
import { pause } from '../../base/waiting.ts'

export interface Target {
  readonly shown: string
  /** Path to write to. For a file, all links have been followed. */
  readonly path: string
  /** Kind of output. Only a regular file is replaced. Pipes and devices are written in place. */
  readonly kind: 'file' | 'pipe' | 'device'
}

type Pieces = Iterable<string> | AsyncIterable<string | Uint8Array>

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
  ELOOP: 'a link to itself; name another file',
  EACCES: 'a file that this user is not allowed to write; name another file',
  EPERM: 'a file that this user is not allowed to write; name another file',
  EROFS: 'a file on a read-only file system; name another file',
  ENXIO: 'a socket, or a device that does not exist; name a file',
  ENOSPC: 'no disk space left; free some, or choose another file',
  EDQUOT: 'no disk space left; free some, or choose another file',
  EPIPE: 'a pipe that its reader closed before the end; run both commands again',
}

/** Returns the format by the extension of a file or its link target, or null if the extension is unknown. */
export function promisedFormat({ shown, path }: Target): string | null {
  const [typed, end] = [shown, path].map((name) => promised[extname(name).toLowerCase()])
  return typed ?? end ?? null
}

/** Finds out whether a path is a file, a pipe or a device. Rejects folders. */
export async function findTarget(path: string, shown: string): Promise<Target> {
  try {
    const there = await stat(path).catch(nullIfAbsent)
    if (there?.isDirectory() === true) throw unwritable(shown, { code: 'EISDIR' })
    if (there === null || there.isFile()) return { shown, path: await endOf(path), kind: 'file' }
    // Links to a pipe, such as /dev/stdout, cannot be resolved.
    return { shown, path, kind: there.isFIFO() ? 'pipe' : 'device' }
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

/** Writes chunks to the target. A file is replaced atomically. A pipe or device gets the chunks as they arrive. */
export async function writeTarget(target: Target, pieces: Pieces): Promise<void> {
  if (target.kind === 'file') await replace(target, pieces)
  else await fill(target, openAsItIs(target), pieces)
}

async function replace(target: Target, pieces: Pieces): Promise<void> {
  // Two commands that write the same file must not share a draft, so its name is unique.
  const part = `${target.path}.${process.pid}.part`
  const drop = () => rmSync(part, { force: true })
  // The draft is also deleted on exit, because Ctrl-C ends the process without any other cleanup.
  process.once('exit', drop)
  try {
    drop()
    // `wx` fails if the file exists. An existing file with this name may be a link.
    await fill(target, open(part, 'wx'), pieces)
    await rename(part, target.path).catch((cause: unknown) => {
      throw unwritable(target.shown, cause)
    })
  } finally {
    process.off('exit', drop)
    drop()
  }
}

const pauseMs = 2

/** Opens a pipe or device. Polls for a pipe's reader, because Ctrl-C cannot interrupt a blocking open. */
async function openAsItIs({ path, kind }: Target): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(path, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      if (kind !== 'pipe' || codeOf(error) !== 'ENXIO') throw error
    }
    await pause(pauseMs)
  }
}

async function fill(
  { shown }: Target,
  opening: Promise<FileHandle>,
  pieces: Pieces,
): Promise<void> {
  const fail = (cause: unknown) => {
    throw unwritable(shown, cause)
  }
  const handle = await opening.catch(fail)
  try {
    // Only write errors are errors of the target. An error while reading the chunks is thrown unchanged.
    for await (const piece of pieces) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
      await push(handle, bytes).catch(fail)
    }
  } finally {
    await handle.close()
  }
}

async function push(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    try {
      done += (await handle.write(bytes, done)).bytesWritten
    } catch (error) {
      // The pipe is full, because its reader is slow.
      if (codeOf(error) !== 'EAGAIN') throw error
      await pause(pauseMs)
    }
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
