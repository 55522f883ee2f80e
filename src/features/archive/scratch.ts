// Files on the way: a folder that nobody needs later, and what is written and read piece by piece.

import { createHash } from 'node:crypto'
import { closeSync, ftruncateSync, openSync, readlinkSync, readSync, writeSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf, MillError, Misuse, reasonOf } from '../../base/errors.ts'
import { type CopiedRows, giveBuffer, takeBuffer } from './copy.ts'

const prefix = 'querymill-archive-'

/** Makes a folder for files that nobody needs once they were read; its name tells whose it is. */
export async function makeScratch(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `${prefix}${processes()}-${process.pid}-`))
  } catch (cause) {
    throw unwritable(tmpdir(), cause, 'set TMPDIR to another folder')
  }
}

/** Clears away what commands left that were killed; whoever lives keeps what is his. */
export async function clearScratch(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  for (const name of names.filter((each) => isLeft(each))) {
    const path = join(tmpdir(), name)
    const found = await lstat(path).catch(() => null)
    if (found === null || !found.isDirectory() || found.uid !== process.getuid?.()) continue
    // Another archive may be clearing the same folder; what cannot be removed is in nobody's way.
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** True: a folder of a process that was among those that this one sees, and is gone. */
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
    // Somebody else's lives as well.
    return codeOf(error) !== 'ESRCH'
  }
}

/** Among which processes a number means one: containers that share a folder each count from 1. */
function processes(): string {
  const space = process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : ''
  return createHash('sha256').update(`${hostname()} ${space}`).digest('hex').slice(0, 12)
}

/** A text on its way into a file; a file of this machine, written as it comes. */
export class Spool {
  readonly path: string
  #file: number | null
  rows = 0
  bytes = 0
  longest = 0

  readonly #done: () => void

  constructor(path: string, done: () => void) {
    this.path = path
    this.#file = openSync(path, 'w')
    this.#done = done
  }

  add({ bytes, rows, longest }: CopiedRows): void {
    if (this.#file === null) throw new Error('expected a text that is not over yet')
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(this.#file, bytes, done)
    } catch (cause) {
      throw unwritable(this.path, cause, 'set TMPDIR to another folder')
    }
    this.rows += rows
    this.bytes += bytes.length
    this.longest = Math.max(this.longest, longest)
  }

  /** Whatever became of it, nobody needs it any more. */
  drop(): void {
    if (this.#file === null) return
    const file = this.#file
    this.#file = null
    ftruncateSync(file)
    closeSync(file)
    this.#done()
  }
}

/** A file piece by piece. Each is gone with the next one: whoever needs it longer copies it. */
export function* chunksOf(path: string): Generator<Buffer> {
  const file = openSync(path, 'r')
  const buffer = takeBuffer()
  try {
    for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
      yield buffer.subarray(0, size)
    }
  } finally {
    giveBuffer(buffer)
    closeSync(file)
  }
}

/** Problems of a place on a disk by error code, with a remedy. */
const reasons: Readonly<Record<string, readonly [got: string, help: string]>> = {
  EACCES: ['one that may not be written', 'change its permissions, or '],
  EPERM: ['one that may not be written', 'change its permissions, or '],
  EROFS: ['a file system that may only be read', ''],
  ENOSPC: ['no room left', 'make some, or '],
  EDQUOT: ['no room left', 'make some, or '],
  ENOTDIR: ['a path through something that is no folder', ''],
  ENOENT: ['nothing there', 'make it, or '],
  EEXIST: ['something else there', ''],
}

/** True: not a bucket, but a disk of this machine. */
export function isOfDisk(cause: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'ENOENT'].includes(codeOf(cause) ?? '')
}

/** Error for a place on a disk that cannot be written; `instead` names the way to choose another. */
export function unwritable(
  path: string,
  cause: unknown,
  instead: 'name another folder' | 'set TMPDIR to another folder',
): unknown {
  const code = codeOf(cause) ?? saidOf(cause)
  if (code === null || cause instanceof MillError) return cause
  const [got, help] = reasons[code] ?? [code, '']
  return new Misuse(
    `expected ${path} to be a place that can be written, got ${got}; ${help}${instead}`,
    { cause },
  )
}

/** DuckDB tells what the system said, in words alone. */
function saidOf(cause: unknown): string | null {
  return /No space left|Disk quota/i.test(reasonOf(cause)) ? 'ENOSPC' : null
}
