// Files that are written and read piece by piece.

import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { codeOf, MillError, Misuse, reasonOf } from '../../base/errors.ts'
import type { CopiedRows } from './copy.ts'

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
