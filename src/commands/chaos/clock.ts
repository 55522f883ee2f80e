import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { Environment } from '../../shared/config.ts'

/** Two that start at the same moment may get into each other's way. */
const tries = 5

/** What shifts the clock of a program; null where `faketime` is not installed. */
export function findClockShifter(): string | null {
  for (let count = 0; count < tries; count += 1) {
    const args = ['-f', '+0s', 'sh', '-c', 'echo $LD_PRELOAD']
    const { status, stdout, error } = spawnSync('faketime', args, { encoding: 'utf8' })
    if (error !== undefined) return null
    if (status === 0 && stdout.trim() !== '') return stdout.trim()
  }
  return null
}

/** The clock of one worker, which steps while it runs; time that is measured goes on as it does. */
export class Clock {
  readonly #file: string
  readonly #library: string

  constructor(file: string, library: string) {
    this.#file = file
    this.#library = library
    this.set(0)
  }

  /** So far from the right time from now on. */
  set(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`)
  }

  get env(): Environment {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_RESET: '1',
    }
  }
}
