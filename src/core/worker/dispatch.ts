// Assigns tasks to lanes.

import { unhandled } from '../../base/errors.ts'
import { buy, type Outcome, type Steps } from '../../pipeline.ts'
import { constants, costClass } from '../ledger/account.ts'
import type { Deferral } from '../ledger/admission.ts'
import type { Task } from '../ledger/entry.ts'
import type { Reserved } from '../ledger/reserve.ts'
import type { OpenTask } from '../queue/open-slices.ts'

export interface DispatchOptions {
  readonly steps: Steps
  readonly free: () => number
  readonly onGate: (reserved: Reserved) => void
  /** Called when a reservation or another step fails. Returns the wait in milliseconds. */
  readonly onTrouble: (error: unknown) => number
  readonly onEnded: (state: string) => void
}

const pollStopMs = 1_000
/** Maximum time that a waiting task stays with the worker. A task that must wait longer returns to the queue. */
const retryInHandMs = 5_000
/** Time added to each wait, because the database rejects attempts that are too early by its clock. */
const clockSlackMs = 50

/** Keeps the lanes full: reserves one task for each free lane, most urgent first. */
export class Dispatch {
  readonly #options: DispatchOptions
  readonly #pending = new Map<number, { task: Task; countdown: Countdown }>()
  /** Countdown of each task in flight; null if the task was handed back during its reservation. */
  readonly #flying = new Map<number, Countdown | null>()
  readonly #waiting = new Map<number, Countdown>()
  #ending = false
  #wake: () => void = () => undefined
  #running = false
  /** True while a suspect task is in flight. */
  #alone = false
  /** Reason why this process is not buying the tasks that it holds. */
  stopped: Extract<Deferral, { kind: 'stop' }> | null = null
  /** True during a reservation. The granted calls start right after the reservation. */
  atGate = false

  constructor(options: DispatchOptions) {
    this.#options = options
  }

  /** Number of calls in flight or being stored. */
  get flying(): number {
    return this.#flying.size
  }

  /** Number of tasks held, including tasks that are being bought. */
  get inHand(): number {
    return this.#pending.size + this.#flying.size + this.#waiting.size
  }

  /** Takes tasks to buy. Resolves when each task has ended or must wait for a later round. */
  take(tasks: readonly Task[]): Promise<Leftover> {
    // The queue may deliver a slice twice. Tasks still held from the first delivery are skipped.
    const taken = tasks.filter(({ id }) => !this.#holds(id))
    const open = tasks.length - taken.length
    if (this.#ending || taken.length === 0) {
      return Promise.resolve({ open: tasks.length, busy: open > 0 })
    }
    return new Promise((resolve) => {
      const countdown: Countdown = { resolve, waiting: taken.length, open, busy: open > 0 }
      for (const task of taken) this.#pending.set(task.id, { task, countdown })
      if (this.#running) this.#wake()
      else void this.#run()
    })
  }

  #holds(id: number): boolean {
    return this.#pending.has(id) || this.#flying.has(id) || this.#waiting.has(id)
  }

  /** Starts no more calls. Calls in flight finish, and all other tasks return to the queue. */
  end(): void {
    this.#ending = true
    for (const id of [...this.#pending.keys()]) this.#handBack(id, { open: true, busy: false })
    for (const countdown of this.#waiting.values()) countDown(countdown, true)
    this.#waiting.clear()
    this.#wake()
  }

  nudge(): void {
    this.#wake()
  }

  async #run(): Promise<void> {
    this.#running = true
    while (!this.#ending && this.#pending.size > 0) {
      const free = this.#alone ? 0 : this.#options.free()
      const pause = free > 0 ? await this.#visitGate(free) : null
      if (pause !== 0) await this.#sleep(pause)
    }
    // Do not `await` between the check and this line; otherwise, new tasks might not restart the loop.
    this.#running = false
  }

  /** Tries to reserve. Returns the number of milliseconds until the next attempt, or null to wait for a change. */
  async #visitGate(free: number): Promise<number | null> {
    const pending = [...this.#pending.values()].map(({ task }) => task)
    const tasks = mostUrgent(pending, { count: free, flying: this.#flying.size })
    if (tasks.length === 0) return null
    let reserved: Reserved
    this.atGate = true
    try {
      reserved = await buy(tasks, this.#options.steps, (task, state) => this.#fly(task, state))
    } catch (error) {
      return this.#options.onTrouble(error)
    } finally {
      this.atGate = false
    }
    for (const id of reserved.gone) this.#handBack(id, { open: false, busy: false })
    for (const id of reserved.later) this.#handBack(id, { open: true, busy: true })
    this.#options.onGate(reserved)
    return this.#applyReserved(reserved, tasks)
  }

  #applyReserved({ deferral, granted }: Reserved, tasks: readonly Task[]): number | null {
    this.stopped = deferral.kind === 'stop' ? deferral : null
    switch (deferral.kind) {
      case 'none':
        return 0
      case 'no_lease':
      case 'stop':
        return pollStopMs
      case 'wait':
        return deferral.ms
      case 'yield':
        for (const { id } of tasks)
          if (!granted.has(id)) this.#handBack(id, { open: true, busy: true })
        return 0
      default:
        throw unhandled('rest', deferral)
    }
  }

  #fly(task: Task, outcome: Promise<Outcome>): void {
    const countdown = this.#pending.get(task.id)?.countdown ?? null
    this.#pending.delete(task.id)
    this.#flying.set(task.id, countdown)
    this.#alone = task.suspect
    void outcome.then(
      (ended) => this.#land(task, ended),
      (error: unknown) => {
        this.#options.onTrouble(error)
        this.#land(task, { state: 'open', waitMs: null })
      },
    )
  }

  #land(task: Task, { state, waitMs }: Outcome): void {
    const countdown = this.#flying.get(task.id) ?? null
    this.#flying.delete(task.id)
    this.#alone = false
    this.#options.onEnded(state)
    if (countdown === null) return
    if (state === 'open' && waitMs !== null && waitMs <= retryInHandMs && !this.#ending) {
      this.#retrySoon(task, countdown, waitMs)
    } else {
      countDown(countdown, state === 'open')
    }
    this.#wake()
  }

  /** Retries a task in this process, because the queue would take longer than the wait. */
  #retrySoon(task: Task, countdown: Countdown, waitMs: number): void {
    this.#waiting.set(task.id, countdown)
    setTimeout(() => {
      if (!this.#waiting.delete(task.id)) return
      this.#pending.set(task.id, { task, countdown })
      if (this.#running) this.#wake()
      else void this.#run()
    }, waitMs + clockSlackMs).unref()
  }

  #handBack(id: number, { open, busy }: { open: boolean; busy: boolean }): void {
    const entry = this.#pending.get(id)
    if (entry === undefined) return
    this.#pending.delete(id)
    entry.countdown.busy ||= busy
    countDown(entry.countdown, open)
  }

  async #sleep(ms: number | null): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      if (ms !== null) timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
    this.#wake = () => undefined
  }
}

type Leftover = Pick<Countdown, 'open' | 'busy'>

/** Counts the tasks that a delivered slice is still waiting for. */
interface Countdown {
  readonly resolve: (left: Leftover) => void
  waiting: number
  open: number
  /** True if an open task waits for another worker's call. */
  busy: boolean
}

/** Counts a task as finished. After the last task, reports the number of open tasks to the slice. */
function countDown(countdown: Countdown, open: boolean): void {
  countdown.waiting -= 1
  if (open) countdown.open += 1
  if (countdown.waiting > 0) return
  countdown.resolve({ open: countdown.open, busy: countdown.busy })
}

export function dueTasks(
  { tasks, priority }: { tasks: readonly OpenTask[]; priority: number },
  run: number,
): Task[] {
  const due = tasks.filter(({ wait_ms }) => wait_ms <= 0)
  return due.map(({ id, query_id: queryId, wait_ms: _wait, deaths, refused, ...query }) => {
    const suspect = deaths >= constants.deaths - 1
    return { id, run, priority, class: costClass(query), query, queryId, suspect, refused }
  })
}

/**
 * Picks the next tasks to reserve. A suspect task is never bought while another call is in flight. A task for which the
 * API rejected the key is bought last: if other tasks succeed, the query was rejected rather than the key.
 */
export function mostUrgent(
  pending: readonly Task[],
  { count, flying }: { count: number; flying: number },
): readonly Task[] {
  const tasks = pending.toSorted(
    (a, b) => Number(a.refused) - Number(b.refused) || a.priority - b.priority || a.id - b.id,
  )
  const plain = tasks.filter(({ suspect }) => !suspect)
  if (plain.length > 0) return plain.slice(0, count)
  return flying === 0 ? tasks.slice(0, 1) : []
}
