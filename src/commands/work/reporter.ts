import { say } from '../../shared/terminal/command.ts'
import type { Mill } from '../mill/mill.ts'
import { countOpenTasks } from '../../store/operator/gauges.ts'
import { endedLastMinute, readAccount, type AccountStatus } from '../../store/operator/status.ts'
import { describeProgress, type Spendable, type WorkProgress } from './progress.ts'
import type { Worker } from './worker.ts'

const lookMs = 10_000
const drawMs = 500
const lineMs = 10_000
/** Counting takes a while with millions of tasks: no more than a twentieth of the time goes into it. */
const restShare = 20
const minuteMs = 60_000

interface Seen {
  readonly left: number
  readonly done: number
  /** Calls that all workers ended in the last minute. */
  readonly ended: number
  readonly account: AccountStatus | null
}

/** Where progress is shown: one line that is drawn again and again, or a line now and then. */
export interface Screen {
  readonly terminal: boolean
  readonly tell: (line: string) => void
}

/** Says how far the worker is; what it says beside progress goes through `tell`, so that lines do not mix. */
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

  readonly tell = (line: string): void => {
    this.clear()
    this.#screen.tell(line)
  }

  /** Called some times a second; work never waits for it. */
  tick(worker: Worker): void {
    const now = performance.now()
    if (!this.#looking && now >= this.#lookAt) void this.#look(worker)
    if (now - this.#drawnAt < (this.#screen.terminal ? drawMs : lineMs)) return
    this.#drawnAt = now
    this.#draw(describeProgress(this.#standing(worker)))
  }

  /** Takes the line off the terminal. */
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
    // A worker that waits says so once.
    if (line !== this.#last) this.#screen.tell(line)
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
      // A database that is away is told of elsewhere; what was seen last is shown.
    }
    const took = performance.now() - began
    this.#lookAt = performance.now() + Math.max(lookMs, took * restShare)
    this.#looking = false
  }

  #standing({ tally, dispatch, clerk }: Worker): WorkProgress {
    const { done } = tally
    const seen = this.#seen
    const { dailyBudget, monthlyBudget } = this.#mill.config
    return {
      done,
      left: seen === null ? null : Math.max(0, seen.left - (done - seen.done)),
      perSecond: Math.max(tally.pace, (seen?.ended ?? 0) / (minuteMs / 1000)),
      flying: dispatch.flying,
      remaining: tally.remaining,
      purse: purseOf(seen?.account ?? null, {
        remaining: tally.remaining,
        floor: clerk.floor,
        dailyBudget,
        monthlyBudget,
      }),
      price: tally.meanPrice,
      still: dispatch.standstill?.detail ?? null,
    }
  }
}

interface Means {
  readonly remaining: number | null
  readonly floor: number
  readonly dailyBudget: number | null
  readonly monthlyBudget: number | null
}

/** What may still be spent: down to the highest floor of live workers, or within the budgets of the day and the month. */
function purseOf(
  account: AccountStatus | null,
  { remaining, floor, dailyBudget, monthlyBudget }: Means,
): Spendable | null {
  if (remaining === null) return null
  const above = remaining - Math.max(floor, account?.floor ?? 0) - (account?.uncertain ?? 0)
  const ends: Spendable[] = [
    { credits: above, end: 'the floor is met' },
    {
      credits: (dailyBudget ?? Infinity) - (account?.day_spent ?? 0),
      end: 'the budget of the day is used up',
    },
    {
      credits: (monthlyBudget ?? Infinity) - (account?.month_spent ?? 0),
      end: 'the budget of the month is used up',
    },
  ]
  return ends.toSorted((one, other) => one.credits - other.credits)[0] ?? null
}

/** For a person who watches: progress on a terminal, lines anywhere else. */
export function terminalScreen(): Screen {
  return { terminal: process.stderr.isTTY, tell: say }
}
