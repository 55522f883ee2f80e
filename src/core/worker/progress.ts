// Shows a worker's progress as a line on a terminal or in a log.

import { count, formatNumber, spanText } from '../../base/cli/text.ts'
import type { Mill } from '../mill.ts'
import { endedLastMinute } from '../runs/status.ts'
import { countOpenTasks } from '../runs/waits.ts'
import type { Worker } from './worker.ts'

const lookMs = 10_000
const drawMs = 500
const lineMs = 10_000
/** Pause after each task count, as a multiple of the count's duration. Counting millions of tasks is slow. */
const restShare = 20

/** Progress output: a single line that is redrawn, or a log line every ten seconds. */
interface Screen {
  readonly terminal: boolean
  readonly report: (line: string) => void
}

interface Seen {
  readonly left: number
  readonly done: number
  /** Number of calls that ended in the last minute, for all workers. */
  readonly ended: number
}

/** Reports progress. Other messages are printed through `report`, so that lines do not mix. */
export class Reporter {
  readonly #mill: Mill
  readonly #screen: Screen
  #seen: Seen | null = null
  #looking = false
  #lookAt = 0
  #drawnAt = performance.now()
  #drawn = false
  #last = ''

  constructor(mill: Mill, screen: Screen) {
    this.#mill = mill
    this.#screen = screen
  }

  readonly report = (line: string): void => {
    this.clear()
    this.#screen.report(line)
  }

  /** Reports progress without delaying the work. Called several times a second. */
  tick(worker: Worker): void {
    const now = performance.now()
    if (!this.#looking && now >= this.#lookAt) void this.#look(worker)
    if (now - this.#drawnAt < (this.#screen.terminal ? drawMs : lineMs)) return
    this.#drawnAt = now
    this.#draw(describeProgress(progressOf(worker, this.#seen)))
  }

  clear(): void {
    if (this.#drawn) process.stderr.write('\r\u001b[2K')
    this.#drawn = false
  }

  #draw(line: string): void {
    if (this.#screen.terminal) {
      process.stderr.write(`\r\u001b[2K${line.slice(0, (process.stderr.columns ?? 80) - 1)}`)
      this.#drawn = true
      return
    }
    // A waiting worker reports its wait only once.
    if (line !== this.#last) this.#screen.report(line)
    this.#last = line
  }

  async #look({ tally }: Worker): Promise<void> {
    const { db } = this.#mill
    const began = performance.now()
    this.#looking = true
    try {
      const done = tally.done
      const left = await countOpenTasks(db)
      this.#seen = { left, done, ended: await endedLastMinute(db) }
    } catch {
      // An unreachable database is reported elsewhere, so the line keeps showing the last known state.
    }
    const took = performance.now() - began
    this.#lookAt = performance.now() + Math.max(lookMs, took * restShare)
    this.#looking = false
  }
}

export type WorkProgress = ReturnType<typeof progressOf>

function progressOf({ tally, dispatch }: Worker, seen: Seen | null) {
  const { done } = tally
  return {
    done,
    /** Open tasks in all runs, or null until they are counted. */
    left: seen === null ? null : Math.max(0, seen.left - (done - seen.done)),
    /** Tasks per second, across all workers. */
    perSecond: Math.max(tally.pace, (seen?.ended ?? 0) / 60),
    flying: dispatch.flying,
    remaining: tally.remaining,
    still: dispatch.stopped?.detail ?? null,
  }
}

/** Formats one line: tasks done and left, rate, remaining time, and credits left. */
export function describeProgress(standing: WorkProgress): string {
  const { done, left, perSecond, flying, remaining, still } = standing
  return [
    `${formatNumber(done)} done${left === null ? '' : `, ${formatNumber(left)} left`}`,
    ...(perSecond > 0 ? [`${rounded(perSecond)}/s`] : []),
    ...(still === null && left !== null && left > 0 && perSecond > 0
      ? [`${spanText(left / perSecond)} to go`]
      : []),
    ...(flying === 0 ? [] : [`${flying} in flight`]),
    ...(remaining === null ? [] : [`${count(remaining, 'credit')} left`]),
    ...(still === null ? [] : [`stopped: ${still}`]),
  ].join(' · ')
}

function rounded(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond))
}
