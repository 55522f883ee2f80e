import { asError } from '../../shared/errors.ts'
import { anyOpen, listOpenSlices } from '../../store/slices.ts'
import { isFatal, setBack, troubleOf } from '../../store/trouble.ts'
import type { Mill } from '../mill/mill.ts'
import type { AfterRuns } from '../mill/after-runs.ts'
import { KeyFile } from './key-file.ts'
import { beats, sparedUntil } from './term.ts'
import { replay } from './unwritten.ts'
import type { Worker } from './worker.ts'

/** A queue that gives this worker nothing for so long may have lost jobs. */
export const idleMs = 2_000
const reconcileMs = 5_000
const lookAtQueueMs = 2_000
const longestReapMs = 15_000
const keyFileMs = 1_000

interface UpkeepOptions {
  readonly tell: (line: string) => void
  readonly afterRuns: AfterRuns
}

/** All that is done now and then beside the buying: for the lease, for calls and jobs that were lost, for runs that end. */
export class Upkeep {
  readonly #mill: Mill
  readonly #worker: Worker
  readonly #tell: (line: string) => void
  readonly #afterRuns: AfterRuns
  readonly #timers: readonly NodeJS.Timeout[]
  #reconciledAt = 0
  #closedAt = performance.now()
  #beatAt = performance.now()
  #queueAt = 0
  /** Until then nobody is given up: leases ran out that could not be renewed, and each worker gets time for a beat. */
  #spareUntil = 0

  private constructor(mill: Mill, worker: Worker, { tell, afterRuns }: UpkeepOptions) {
    this.#mill = mill
    this.#worker = worker
    this.#tell = tell
    this.#afterRuns = afterRuns
    const { leaseMs } = mill.config
    this.#timers = [
      this.#every(leaseMs / beats, () => this.#beat()),
      this.#every(Math.min(leaseMs / 4, longestReapMs), () => this.#recover(tell)),
      ...this.#watchKey(),
    ]
  }

  /** Keeps the lease and recovers what was lost, until it is stopped. */
  static start(mill: Mill, worker: Worker, options: UpkeepOptions): Upkeep {
    return new Upkeep(mill, worker, options)
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  /** True while a task is open anywhere; null when the database did not say. */
  async look(): Promise<boolean | null> {
    await this.#lookAtQueue()
    try {
      const open = await anyOpen(this.#mill.db)
      this.#worker.outages.mark('the database', false)
      if (open) await this.#reconcile()
      await this.#closeRuns()
      return open
    } catch (error) {
      if (troubleOf(error) === 'data') throw error
      this.#worker.outages.mark('the database', true)
      return null
    }
  }

  #watchKey(): NodeJS.Timeout[] {
    const { keyFile, api } = this.#mill.config
    if (keyFile === null || api === null) return []
    const file = new KeyFile(keyFile, api.key, this.#tell)
    return [this.#every(keyFileMs, () => file.look(this.#worker))]
  }

  #every(ms: number, task: () => Promise<unknown>): NodeJS.Timeout {
    return setInterval(() => {
      task().catch((error: unknown) => {
        if (isFatal(error)) this.#worker.fatal = asError(error)
        else this.#worker.outages.mark('the database', true)
      })
    }, ms)
  }

  /** Renews the lease; one that went unrenewed for several beats means that the leases of others did, too. */
  async #beat(): Promise<void> {
    const { lease } = this.#worker
    const { leaseMs } = this.#mill.config
    await lease.beat()
    const now = performance.now()
    this.#spareUntil = sparedUntil(this.#spareUntil, { now, beatAt: this.#beatAt, leaseMs })
    this.#beatAt = now
  }

  /** Gives up calls of workers that died, and releases reservations of this one that nobody heard of. */
  async #recover(tell: (line: string) => void): Promise<void> {
    const { lease, clerk, spender, dispatch } = this.#worker
    this.#worker.reserve.touch()
    // First of all, since the others may have been kept from it as well: only a beat shows how long that was.
    await this.#beat()
    // Answers that a worker kept in a file are not lost: their calls must not be given up and bought again.
    await replay(this.#mill, clerk, tell)
    if (performance.now() >= this.#spareUntil) await lease.reap(clerk)
    await lease.release(clerk, spender.givenUp)
    await this.#expectNothingOpen()
    dispatch.nudge()
  }

  /** A worker with nothing on its way has no call in the tables: nobody would ever end one that is there. */
  async #expectNothingOpen(): Promise<void> {
    const { lease, spender, dispatch, batch, tally } = this.#worker
    const idle = () => dispatch.flying === 0 && !dispatch.atGate && batch.size === 0
    const calls = tally.calls
    if (!idle()) return
    const open = await lease.countOpen(spender.givenUp)
    // What began meanwhile may be what was counted.
    if (open === 0 || !idle() || tally.calls !== calls) return
    throw setBack(
      `${open} calls of worker ${lease.worker}, which has ended all of its own, are open`,
    )
  }

  /** The queue has nothing for this worker although tasks are open: jobs that it lost are made again. */
  async #reconcile(): Promise<void> {
    const now = performance.now()
    if (this.#worker.idleFor < idleMs || now - this.#reconciledAt < reconcileMs) return
    this.#reconciledAt = now
    const slices = await listOpenSlices(this.#mill.db, { after: null, limit: 500 })
    const due = slices.filter(({ delay_ms }) => delay_ms <= 0)
    const queue = await this.#mill.queue()
    // Not awaited: a store that is away may never answer, and this worker goes on.
    queue.wake(due).catch(() => this.#worker.outages.mark('the queue', true))
  }

  /** Closes runs that stayed open: of slices that end at the same moment each may take another one for the last. */
  async #closeRuns(): Promise<void> {
    if (performance.now() - this.#closedAt < reconcileMs) return
    this.#closedAt = performance.now()
    await this.#afterRuns(this.#mill, this.#tell)
  }

  async #lookAtQueue(): Promise<void> {
    const now = performance.now()
    if (now - this.#queueAt < lookAtQueueMs) return
    this.#queueAt = now
    const queue = await this.#mill.queue()
    // Not awaited, for the same reason.
    queue
      .mend()
      .then(() => queue.count())
      .then(
        () => this.#worker.outages.mark('the queue', false),
        () => this.#worker.outages.mark('the queue', true),
      )
  }
}
