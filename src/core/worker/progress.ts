// Shows a worker's progress as a line on a terminal or in a log.

import { count, formatNumber, spanText } from '../../base/cli/text.ts'
import type { Mill } from '../mill.ts'
import { type AccountStatus, endedLastMinute, readAccount } from '../runs/status.ts'
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
  readonly account: AccountStatus | null
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
    const { db, supplier } = this.#mill
    const began = performance.now()
    this.#looking = true
    try {
      const done = tally.done
      const left = await countOpenTasks(db)
      const account = await readAccount(db, { name: supplier.account, kind: supplier.origin })
      this.#seen = { left, done, ended: await endedLastMinute(db), account }
    } catch {
      // An unreachable database is reported elsewhere, so the line keeps showing the last known state.
    }
    const took = performance.now() - began
    this.#lookAt = performance.now() + Math.max(lookMs, took * restShare)
    this.#looking = false
  }
}

export type WorkProgress = ReturnType<typeof progressOf>

function progressOf(worker: Worker, seen: Seen | null) {
  const { tally, dispatch } = worker
  const { done } = tally
  return {
    done,
    /** Open tasks in all runs, or null until they are counted. */
    left: seen === null ? null : Math.max(0, seen.left - (done - seen.done)),
    /** Tasks per second, across all workers. */
    perSecond: Math.max(tally.pace, (seen?.ended ?? 0) / 60),
    flying: dispatch.flying,
    remaining: tally.remaining,
    spendable: spendableOf(worker, seen?.account ?? nothingSpent),
    /** Average cost of an answer, or null before the first answer. */
    price: tally.meanPrice,
    still: dispatch.stopped?.detail ?? null,
  }
}

const nothingSpent = { floor: null, uncertain: 0, day_spent: 0, month_spent: 0 }

/** Returns the credits left to spend and the limit that applies, or null if the balance is unknown. */
function spendableOf(
  { tally: { remaining }, spender }: Worker,
  { floor, uncertain, day_spent, month_spent }: Pick<AccountStatus, keyof typeof nothingSpent>,
) {
  if (remaining === null) return null
  const above = remaining - Math.max(spender.floor, floor ?? 0) - uncertain
  const day = (spender.dailyBudget ?? Infinity) - day_spent
  const month = (spender.monthlyBudget ?? Infinity) - month_spent
  const credits = Math.min(above, day, month)
  if (credits === above) return { credits, end: 'credit floor reached' }
  return { credits, end: credits === day ? 'daily budget used up' : 'monthly budget used up' }
}

/** Formats one line: tasks done and left, rate, remaining time, and when credits run out. */
export function describeProgress(standing: WorkProgress): string {
  const { done, left, perSecond, flying, remaining, still } = standing
  return [
    left === null
      ? `${formatNumber(done)} done`
      : `${formatNumber(done)} done, ${formatNumber(left)} left`,
    ...(perSecond > 0 ? [`${rounded(perSecond)}/s`] : []),
    ...(still === null ? toGo(standing) : []),
    ...(flying === 0 ? [] : [`${flying} in flight`]),
    ...(remaining === null ? [] : [`${count(remaining, 'credit')} left`]),
    ...(still === null ? [] : [`stopped: ${still}`]),
  ].join(' · ')
}

/** Describes the remaining work until everything is done or credits run out, whichever comes first. */
function toGo({ left, perSecond, spendable, price }: WorkProgress): string[] {
  if (left === null || left === 0) return []
  const lasting = (tasks: number) => (perSecond > 0 ? spanText(tasks / perSecond) : null)
  const reach =
    spendable === null || price === null || price === 0 ? null : spendable.credits / price
  if (spendable !== null && reach !== null && reach < left) {
    const answers = Math.max(0, Math.floor(reach))
    const time = lasting(answers)
    const when = time === null ? '' : `, in ${time}`
    return [`${spendable.end} after ${count(answers, 'more answer')}${when}`]
  }
  const time = lasting(left)
  return time === null ? [] : [`${time} to go`]
}

function rounded(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond))
}
