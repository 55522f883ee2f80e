import type { SliceSink } from '../../queue/refill.ts'
import { MillError } from '../../shared/errors.ts'
import type { Mill } from '../mill/mill.ts'
import { addUpDay, closeAndJudge, type AfterRuns } from '../mill/after-runs.ts'
import type { ChooseQueries, NightDesk } from './run.ts'
import { tick } from './tick.ts'
import { openPart } from '../../queue/open.ts'
import { openQueue, type SliceQueue } from '../../queue/slices.ts'
import { loadSchedules, type ScheduleFile } from './file.ts'
import { scrubbedReason } from '../../shared/secret.ts'

export interface SchedulerOptions {
  readonly file: string
  readonly tell: (line: string) => void
  /** What follows the end of runs; usually they are closed and judged. */
  readonly afterRuns?: AfterRuns
  readonly chooseQueries?: ChooseQueries
}

/** Plans what is due, tick by tick, and remembers the last file that could be read. */
export class Scheduler {
  readonly #mill: Mill
  readonly #options: SchedulerOptions
  readonly #said = new Set<string>()
  #file: ScheduleFile | null = null
  #running: Promise<void> | null = null
  #queue: Promise<SliceQueue> | null = null
  #lastTick = performance.now()
  #trouble: string | null = null

  constructor(mill: Mill, options: SchedulerOptions) {
    this.#mill = mill
    this.#options = options
  }

  /** Why the last tick was not done; null when it was. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** False when no line of the file can be used. */
  get usable(): boolean {
    return this.#file !== null && (this.#file.schedules.length > 0 || this.#file.names.length === 0)
  }

  get silentFor(): number {
    return performance.now() - this.#lastTick
  }

  /** One tick; asked for while one is going, it waits for that one instead. */
  tick(): Promise<void> {
    this.#running ??= this.#tick().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** A tick that never throws: what went wrong is said, and the next one tries again. */
  async tryTick(): Promise<void> {
    try {
      await this.tick()
      this.#trouble = null
    } catch (error) {
      this.#trouble = scrubbedReason(error)
      this.#options.tell(`the tick was not done, the next one tries again: ${this.#trouble}`)
      // A queue that was opened while its store was away never recovers.
      await this.#closeQueue()
    }
  }

  async close(): Promise<void> {
    await this.#running?.catch(() => undefined)
    await this.#closeQueue()
  }

  async #tick(): Promise<void> {
    this.#lastTick = performance.now()
    const { db, supplier, config } = this.#mill
    const { tell, afterRuns = closeAndJudge, chooseQueries } = this.#options
    const schedules = await this.#load()
    const desk: NightDesk = {
      db,
      supplier,
      maxAgeMs: config.maxAgeMs,
      queue: () => this.#slices(),
      tell,
      ...(chooseQueries === undefined ? {} : { chooseQueries }),
    }
    await tick(desk, schedules)
    await afterRuns(this.#mill, tell)
    await addUpDay(this.#mill, tell)
  }

  /** The file as it is now; when it cannot be read, as it was. Each complaint is said once. */
  async #load(): Promise<ScheduleFile> {
    const { file } = this.#options
    try {
      this.#file = await loadSchedules(this.#mill.db, { file, zone: this.#mill.config.zone })
      for (const { line, problem } of this.#file.refusals) {
        this.#sayOnce(`${file}:${line}: ${problem}; the other schedules go on`)
      }
      return this.#file
    } catch (error) {
      if (!(error instanceof MillError) || this.#file === null) throw error
      this.#sayOnce(`${error.message}; the schedules read last stay in force`)
      return this.#file
    }
  }

  #sayOnce(line: string): void {
    if (this.#said.has(line)) return
    this.#said.add(line)
    this.#options.tell(line)
  }

  #slices(): Promise<SliceSink> {
    this.#queue ??= openPart(this.#mill, { name: 'nightly', max: 3 }, openQueue)
    return this.#queue
  }

  async #closeQueue(): Promise<void> {
    const queue = this.#queue
    this.#queue = null
    await queue?.then(
      (opened) => opened.close(),
      () => undefined,
    )
  }
}
