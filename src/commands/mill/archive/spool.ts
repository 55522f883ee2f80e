import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import type { CopiedRows } from '../../../store/archive/copy.ts'
import { unwritable } from './disk.ts'

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
