import { spawnSync } from 'node:child_process'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Environment } from '../../src/base/config.ts'
import { startProgram } from '../../src/base/embedded/process.ts'

/** A command that runs as a separate process, with its output. */
export interface Program {
  readonly pid: number
  /** Its exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>
  readonly over: () => boolean
  readonly signal: (name: NodeJS.Signals) => void
  /** The first line that it prints. */
  readonly firstLine: Promise<string>
  readonly lastWords: () => string
}

interface LaunchOptions {
  readonly args?: readonly string[]
  readonly env: Environment
  /** Receives all of its output. */
  readonly log: string
}

/** Starts a command with only these settings, and reads its output. */
export function launch(job: string, { args = [], env, log }: LaunchOptions): Program {
  const child = startProgram(job, { args, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  let printed = ''
  let tellFirst: (line: string) => void = () => undefined
  const firstLine = new Promise<string>((done) => {
    tellFirst = done
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      appendFileSync(log, text)
      said = (said + text).slice(-4_000)
    })
  }
  child.stdout?.on('data', (text: string) => {
    printed = (printed + text).slice(0, 10_000)
    if (printed.includes('\n')) tellFirst(printed.slice(0, printed.indexOf('\n')))
  })
  let over = false
  const ended = new Promise<number | null>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => {
      over = true
      tellFirst(printed)
      removeClockMemory(child.pid)
      done(code)
    })
  })
  return {
    pid: child.pid ?? 0,
    ended,
    over: () => over,
    signal: (name) => child.kill(name),
    firstLine,
    lastWords: () => said,
  }
}

/** Removes the shared memory of a shifted clock, which a killed process leaves behind. */
function removeClockMemory(pid = 0): void {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`]) {
    rmSync(`/dev/shm/${name}`, { force: true })
  }
}

/** Two processes that start at the same moment may conflict. */
const tries = 5

/** Settings that shift a program's clock; null if `faketime` is not installed. */
export function findClockShifter(): string | null {
  for (let count = 0; count < tries; count += 1) {
    const args = ['-f', '+0s', 'sh', '-c', 'echo $LD_PRELOAD']
    const { status, stdout, error } = spawnSync('faketime', args, { encoding: 'utf8' })
    if (error !== undefined) return null
    if (status === 0 && stdout.trim() !== '') return stdout.trim()
  }
  return null
}

/** One worker's clock, which jumps while the worker runs; the monotonic clock continues. */
export class Clock {
  readonly #file: string
  readonly #library: string

  constructor(file: string, library: string) {
    this.#file = file
    this.#library = library
    this.set(0)
  }

  /** Sets its offset from the true time, from now on. */
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
