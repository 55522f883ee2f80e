// Temporary files: a scratch folder, and files written and read piece by piece.

import { createHash } from 'node:crypto'
import { closeSync, openSync, readlinkSync, readSync, writeSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf, MillError, Misuse, reasonOf } from '../../base/errors.ts'
import type { CopiedRows } from './copy.ts'

const prefix = 'querymill-archive-'

/** Creates a folder for temporary files. The folder's name identifies the process. */
export async function makeScratch(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `${prefix}${processes()}-${process.pid}-`))
  } catch (cause) {
    throw unwritable(tmpdir(), cause, 'set TMPDIR to another folder')
  }
}

/** Deletes the temporary folders that killed commands left behind. The folders of live processes are kept. */
export async function clearScratch(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  for (const name of names.filter((each) => isLeft(each))) {
    const path = join(tmpdir(), name)
    const found = await lstat(path).catch(() => null)
    if (found === null || !found.isDirectory() || found.uid !== process.getuid?.()) continue
    // Another command may be deleting the same folder. A folder that can't be deleted does no harm.
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** True for the temporary folder of a dead process in the same pid namespace. */
function isLeft(name: string): boolean {
  if (!name.startsWith(prefix)) return false
  const [among, pid] = name.slice(prefix.length).split('-')
  return among === processes() && /^[1-9]\d*$/.test(pid ?? '') && !lives(Number(pid))
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Another user's process can't be signalled, but it is alive.
    return codeOf(error) !== 'ESRCH'
  }
}

/** Identifies the pid namespace. Containers that share a folder each have their own pids, counted from 1. */
function processes(): string {
  const space = process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : ''
  return createHash('sha256').update(`${hostname()} ${space}`).digest('hex').slice(0, 12)
}

/** A local file that collects text as it arrives, before the text is converted. */
export class Spool {
  readonly path: string
  readonly #file: number
  rows = 0
  bytes = 0
  longest = 0

  constructor(path: string) {
    this.path = path
    this.#file = openSync(path, 'w')
  }

  add({ bytes, rows, longest }: CopiedRows): void {
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(this.#file, bytes, done)
    } catch (cause) {
      throw unwritable(this.path, cause, 'set TMPDIR to another folder')
    }
    this.rows += rows
    this.bytes += bytes.length
    this.longest = Math.max(this.longest, longest)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Reads a file in chunks. Each chunk is valid only until the next chunk is read. */
export function* chunksOf(path: string): Generator<Buffer> {
  const file = openSync(path, 'r')
  const buffer = Buffer.allocUnsafeSlow(256 * 1024)
  try {
    for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
      yield buffer.subarray(0, size)
    }
  } finally {
    closeSync(file)
  }
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'no write permission',
  EPERM: 'no write permission',
  ENOSPC: 'no space left',
  EDQUOT: 'no space left',
  ENOTDIR: 'a path that uses a file as a folder',
  EEXIST: 'a file instead of a folder',
}

/** Error for a location that can't be written to. `instead` names the flag or setting that chooses another location. */
export function unwritable(
  path: string,
  cause: unknown,
  instead: 'name another folder' | 'set TMPDIR to another folder',
): unknown {
  // DuckDB reports system errors only as text.
  const full = /No space left|Disk quota/i.test(reasonOf(cause)) ? 'ENOSPC' : null
  const code = codeOf(cause) ?? full
  if (code === null || cause instanceof MillError) return cause
  const got = problems[code] ?? code
  return new Misuse(`expected ${path} to be writable, got ${got}; fix that, or ${instead}`, {
    cause,
  })
}
