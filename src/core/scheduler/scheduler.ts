// Runs the scheduler: plans the nights that are due at each tick of the queue's clock.

import { troubleOf } from '../../base/database/trouble.ts'
import { MillError } from '../../base/errors.ts'
import { scrubbedReason } from '../../base/secret.ts'
import { pause } from '../../base/waiting.ts'
import type { Mill } from '../mill.ts'
import { addUpDay, type AfterRuns, closeAndJudge } from '../nights/after-runs.ts'
import { lastLook } from '../nights/nights.ts'
import { openQueue, type SliceQueue } from '../queue/slice-jobs.ts'
import { openPart } from '../queue/queue.ts'
import { openTicker } from '../queue/minute-clock.ts'
import { loadSchedules, type ScheduleFile } from './schedule.ts'
import { type ChooseQueries, tick } from './tick.ts'

interface SchedulerOptions {
  readonly file: string
  readonly report: (line: string) => void
  /** Called when runs have ended. By default, these runs are closed and judged. */
  readonly afterRuns?: AfterRuns
  readonly chooseQueries?: ChooseQueries
}

/** Plans due nights at each tick, and keeps the last readable schedule file. */
export class Scheduler {
  readonly #mill: Mill
  readonly #options: SchedulerOptions
  readonly #said = new Set<string>()
  #file: ScheduleFile | null = null
  #running: Promise<void> | null = null
  #queue: Promise<SliceQueue> | null = null
  #lastTick = performance.now()
  /** Reason why the last tick failed; null if it succeeded. */
  trouble: string | null = null

  constructor(mill: Mill, options: SchedulerOptions) {
    this.#mill = mill
    this.#options = options
  }

  get usable(): boolean {
    return this.#file !== null && (this.#file.schedules.length > 0 || this.#file.names.length === 0)
  }

  get silentFor(): number {
    return performance.now() - this.#lastTick
  }

  tick(): Promise<void> {
    this.#running ??= this.#tick().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** Performs a tick. Errors are reported, not thrown, and the next tick tries again. */
  async tryTick(): Promise<void> {
    try {
      await this.tick()
      this.trouble = null
    } catch (error) {
      this.trouble = scrubbedReason(error)
      this.#options.report(`the tick failed: ${this.trouble}; the next tick will try again`)
      // A queue opened while its store was unreachable never recovers.
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
    const { report, afterRuns = closeAndJudge, chooseQueries } = this.#options
    const schedules = await this.#load()
    const queue = () =>
      (this.#queue ??= openPart(this.#mill, { name: 'nightly', max: 3 }, openQueue))
    const context = { db, supplier, maxAgeMs: config.maxAgeMs, queue, report, chooseQueries }
    await tick(context, schedules)
    await afterRuns(this.#mill, report)
    await addUpDay(this.#mill, report)
  }

  /** Reads the current file, or keeps the previous file if the current one is unreadable. Reports each problem once. */
  async #load(): Promise<ScheduleFile> {
    const { file } = this.#options
    try {
      this.#file = await loadSchedules(this.#mill.db, { file, zone: this.#mill.config.zone })
      for (const { line, problem } of this.#file.refusals) {
        this.#sayOnce(`${file}:${line}: ${problem}; the other schedules remain in effect`)
      }
      return this.#file
    } catch (error) {
      if (!(error instanceof MillError) || this.#file === null) throw error
      this.#sayOnce(`${error.message}; the previously read schedules remain in effect`)
      return this.#file
    }
  }

  #sayOnce(line: string): void {
    if (this.#said.has(line)) return
    this.#said.add(line)
    this.#options.report(line)
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

// A longer time without a tick is a problem, because the queue's clock ticks every minute.
const silenceMs = 75_000
const lookEveryMs = 10_000

type Ticking = Pick<Scheduler, 'tryTick' | 'silentFor' | 'close'>

interface ClockOptions {
  readonly signal: AbortSignal
  readonly report: (line: string) => void
  /** Interval between checks that the queue's clock is still ticking. */
  readonly lookMs?: number
}

/** Runs a scheduler on the queue's clock until the signal is aborted. Restarts the clock if it has stopped ticking. */
export async function keepTime(
  mill: Mill,
  scheduler: Ticking,
  { signal, report, lookMs = lookEveryMs }: ClockOptions,
): Promise<void> {
  await scheduler.tryTick()
  let clock: Ticker | null = await startClock(mill, scheduler)
  try {
    while (!signal.aborted) {
      await pause(lookMs, signal)
      if (signal.aborted || scheduler.silentFor < silenceMs) continue
      if (await othersLook(mill)) continue
      report("the queue's clock has stopped and is being restarted")
      await clock?.close()
      clock = await startClock(mill, scheduler).catch((error: unknown) => {
        report(`the queue's clock could not be started: ${scrubbedReason(error)}`)
        return null
      })
      await scheduler.tryTick()
    }
  } finally {
    await clock?.close()
    await scheduler.close()
  }
}

type Ticker = Awaited<ReturnType<typeof startClock>>

function startClock(mill: Mill, scheduler: Ticking) {
  return openPart(mill, { name: 'ticks', max: 3 }, (store, id) =>
    openTicker(store, id, () => scheduler.tryTick()),
  )
}

/** True if any scheduler has checked the schedules recently. The queue's clock may have triggered another scheduler. */
async function othersLook(mill: Mill): Promise<boolean> {
  try {
    const ago = await lastLook(mill.db)
    return ago !== null && ago < silenceMs
  } catch (error) {
    if (troubleOf(error) === 'data') throw error
    return false
  }
}
