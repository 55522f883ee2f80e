import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { codeOf, Misuse, reasonOf } from '../../../shared/errors.ts'
import type { CopiedRows } from '../../../store/archive/copy.ts'

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
      throw outOfRoom(this.path, cause)
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

/** What to say of something that could not be written. */
export function outOfRoom(path: string, cause: unknown): unknown {
  if (/No space left|Disk quota/i.test(reasonOf(cause)) || codeOf(cause) === 'ENOSPC') {
    return new Misuse(
      `expected ${path} to be a place that can be written, got no room left; make some, or name another folder`,
      { cause },
    )
  }
  return cause
}
