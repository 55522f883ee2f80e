import type { Mill } from '../mill/mill.ts'
import { anyOpen, closeRuns, listOpenSlices } from '../../store/slices.ts'
import { troubleOf } from '../../store/trouble.ts'
import type { Worker } from './worker.ts'

/** Quiet for so long, the queue may have lost what it had for this worker. */
export const idleMs = 2_000
const reconcileMs = 5_000
const lookAtQueueMs = 2_000

/** What has to be looked at now and then, whoever else is at work. */
export class Rounds {
  readonly #mill: Mill
  readonly #worker: Worker
  #reconciledAt = 0
  #closedAt = performance.now()
  #queueAt = 0

  constructor(mill: Mill, worker: Worker) {
    this.#mill = mill
    this.#worker = worker
  }

  /** True while a task is open anywhere; null when the database did not say. */
  async look(): Promise<boolean | null> {
    await this.#lookAtQueue()
    try {
      const open = await anyOpen(this.#mill.db)
      this.#worker.outages.mark('the database', false)
      if (open) await this.#reconcile()
      await this.#close()
      return open
    } catch (error) {
      if (troubleOf(error) === 'data') throw error
      this.#worker.outages.mark('the database', true)
      return null
    }
  }

  /** The queue has nothing for us although tasks are open: jobs that it lost are made again. */
  async #reconcile(): Promise<void> {
    const now = performance.now()
    if (this.#worker.idleFor < idleMs || now - this.#reconciledAt < reconcileMs) return
    this.#reconciledAt = now
    const slices = await listOpenSlices(this.#mill.db, { after: null, limit: 500 })
    const due = slices.filter(({ delay_ms }) => delay_ms <= 0)
    const queue = await this.#mill.queue()
    // Not awaited: a store that is away may never answer, and the rounds go on.
    queue.add(due).catch(() => this.#worker.outages.mark('the queue', true))
  }

  /** Slices that end at the same moment may each take another one for the last. */
  async #close(): Promise<void> {
    if (performance.now() - this.#closedAt < reconcileMs) return
    this.#closedAt = performance.now()
    await closeRuns(this.#mill.db)
  }

  async #lookAtQueue(): Promise<void> {
    const now = performance.now()
    if (now - this.#queueAt < lookAtQueueMs) return
    this.#queueAt = now
    const queue = await this.#mill.queue()
    // Not awaited either.
    queue.count().then(
      () => this.#worker.outages.mark('the queue', false),
      () => this.#worker.outages.mark('the queue', true),
    )
  }
}
