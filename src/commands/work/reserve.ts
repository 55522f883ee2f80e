import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../../shared/errors.ts'

// No file system makes a hole of it, or finds it twice and keeps it once.
const pieceBytes = 64 * 1024
/** What a host that is gone has left is removed after so long: a worker that lives touches its own. */
const forgottenMs = 86_400_000
const mark = 'reserve-'

let taken = 0

/**
 * Room on the disk, taken before anything is bought: what the database does not take is written over it, also when the
 * disk has been filled since. Named after host and process, so that what a killed worker left is known as such.
 */
export class Reserve {
  readonly file: string
  readonly #handle: number
  #open = true

  private constructor(file: string, handle: number) {
    this.file = file
    this.#handle = handle
  }

  /** Takes so many bytes of the disk that holds the folder; throws when they are not there. */
  static take(folder: string, bytes: number): Reserve {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    sweep(folder)
    taken += 1
    const file = join(folder, `${nameOf(process.pid)}-${taken}`)
    const handle = openSync(file, 'w', 0o600)
    try {
      const piece = randomBytes(Math.min(pieceBytes, bytes))
      for (let at = 0; at < bytes; at += piece.length) writeWhole(handle, piece, at)
      fsyncSync(handle)
    } catch (error) {
      closeSync(handle)
      rmSync(file, { force: true })
      throw error
    }
    return new Reserve(file, handle)
  }

  /** Shows other hosts that somebody lives who took it. */
  touch(): void {
    const now = new Date()
    if (this.#open) futimesSync(this.#handle, now, now)
  }

  /** The open file, to be written over and renamed; null when it was used before, or somebody removed it. */
  use(): number | null {
    if (!this.#open || inodeOf(this.file) !== fstatSync(this.#handle).ino) return null
    this.#open = false
    return this.#handle
  }

  /** Gives the room back, unless it was used. */
  release(): void {
    if (!this.#open) return
    this.#open = false
    closeSync(this.#handle)
    // Not where something else has taken the place of the folder.
    if (inodeOf(this.file) !== undefined) rmSync(this.file, { force: true })
  }
}

/** Writes all of it at this place; the room may end in the middle. */
export function writeWhole(handle: number, bytes: Uint8Array, place: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(handle, bytes, done, bytes.length - done, place + done)
  }
}

function nameOf(pid: number | string): string {
  return `${mark}${hostname()}-${pid}`
}

/** Removes what workers left that were killed: those of this host at once, of others when nobody has touched it for long. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(mark))) {
    const file = join(folder, name)
    const [, pid] = /-(\d+)-\d+$/.exec(name) ?? []
    const ours = pid !== undefined && name.startsWith(`${nameOf(pid)}-`)
    const gone = ours ? !lives(Number(pid)) : ageOf(file) > forgottenMs
    if (gone) rmSync(file, { force: true })
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function ageOf(file: string): number {
  const modified = look(file)?.mtimeMs
  return modified === undefined ? 0 : Date.now() - modified
}

function inodeOf(file: string): number | undefined {
  return look(file)?.ino
}

/** Undefined where no such file is, or no folder that could hold it. */
function look(file: string): Stats | undefined {
  try {
    return statSync(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}
