import { setTimeout } from 'node:timers/promises'
import { startDuties } from './duties.ts'
import type { Consumer } from './queue/slices.ts'
import { keep } from './kept.ts'
import type { Mill } from './mill.ts'
import { anyOpen, closeRuns, listOpenSlices } from './store/slices.ts'
import { knownBalance, leftUnaffordable, standingStop } from './store/drain.ts'
import { refuseSkew } from './store/workers.ts'
import { reaching, troubleOf } from './store/trouble.ts'
import type { Finish, Summary } from './tally.ts'
import type { WorkerOptions } from './parts.ts'
import { Worker } from './worker.ts'

export interface WorkOptions extends WorkerOptions {
  /** True: ends when nothing is open, or when the account stands still. */
  readonly drain: boolean
  readonly signal: AbortSignal
  /** Told what the worker has seen, some times a second. */
  readonly onTick?: (worker: Worker) => void
}

const tickMs = 200
/** A drain gives up on a part that stays away this long; with everything put away it ends within 40 s. */
const giveUpMs = 18_000
const idleMs = 2_000
const reconcileMs = 5_000
const lookAtQueueMs = 2_000
const putAwayMs = 5_000

/** Works until stopped, or until there is nothing left to do; gives back what was done and why it ended. */
export async function work(mill: Mill, options: WorkOptions): Promise<Summary> {
  await reaching('the database', () => refuseSkew(mill.db))
  const queue = await mill.queue()
  const worker = await reaching('the database', () => Worker.open(mill, options))
  const duties = startDuties(mill, worker)
  await closeRuns(mill.db)
  const consumer = queue.consume((job) => worker.handle(job), worker.slots)
  let finish: Finish = 'interrupted'
  try {
    finish = await waitForEnd(mill, worker, options)
    if (worker.fatal !== null) throw worker.fatal
  } finally {
    await putAway(mill, { worker, consumer, options })
    duties.stop()
  }
  const summary = worker.tally.sum(finish)
  const balance = worker.outages.away('the database')
    ? summary.credits_remaining
    : await knownBalance(mill.db, worker.clerk.account)
  return { ...summary, credits_remaining: balance }
}

async function waitForEnd(mill: Mill, worker: Worker, options: WorkOptions): Promise<Finish> {
  const rounds = new Rounds(mill, worker)
  while (!options.signal.aborted && worker.fatal === null) {
    await pause(tickMs, options.signal)
    options.onTick?.(worker)
    const open = await rounds.look()
    if (!options.drain) continue
    const finish = await drained(mill, worker, open)
    if (finish !== null) return finish
  }
  return 'interrupted'
}

/** Why a drain is over; null while it is not. */
async function drained(mill: Mill, worker: Worker, open: boolean | null): Promise<Finish | null> {
  if (worker.outages.longerThan(giveUpMs) !== null) return 'unreachable'
  if (open === null || worker.dispatch.flying > 0) return null
  const { standstill } = worker.dispatch
  if (standstill !== null && worker.dispatch.inHand > 0) {
    if (standstill.reason !== 'rate') return standstill.reason
    return worker.tally.stillFor > mill.config.stallMs ? 'stalled' : null
  }
  if (worker.handling > 0) return null
  if (!open) {
    await closeRuns(mill.db)
    return (await leftUnaffordable(mill.db, worker.tally.age)) ? 'budget' : 'completed'
  }
  // Others hold what is left: at a stop they will not let go of it.
  if (worker.idleFor < idleMs) return null
  const { account, key, floor } = worker.clerk
  return standingStop(mill.db, { account, key, floor })
}

/** What has to be looked at now and then, whoever else is at work. */
class Rounds {
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
    try {
      await queue.add(due)
    } catch {
      this.#worker.outages.mark('the queue', true)
    }
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
    // Not awaited: a store that is away may never answer, and the rounds go on.
    queue.count().then(
      () => this.#worker.outages.mark('the queue', false),
      () => this.#worker.outages.mark('the queue', true),
    )
  }
}

/** Lets calls in flight come back, hands slices back to the queue, and leaves no paid answer in memory. */
async function putAway(
  mill: Mill,
  { worker, consumer, options }: { worker: Worker; consumer: Consumer; options: WorkOptions },
): Promise<void> {
  const stopped = consumer.pause()
  worker.end()
  if (worker.dispatch.flying > 0) {
    options.tell(
      `waiting for ${worker.dispatch.flying} calls in flight; again to abandon them (they may be charged)`,
    )
  }
  const allBack = () => !worker.dispatch.atGate && worker.dispatch.flying === worker.batch.size
  await until(allBack, mill.config.timeoutMs + putAwayMs)
  await worker.cut()
  await until(() => worker.batch.size === 0 && worker.handling === 0, putAwayMs)
  const left = worker.batch.abandon()
  if (left.length > 0) {
    const file = keep(mill, worker.clerk.account, left)
    options.tell(
      `${left.length} paid answers could not be written to the database; they are kept in ${file} and settled first at the next start`,
    )
  }
  await stopped
  await consumer.close()
  if (!worker.outages.away('the database')) await worker.lease.close()
}

async function until(done: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs
  while (!done() && performance.now() < end) await pause(20)
}

/** Waits a while, or until a signal comes. */
async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    if (signal?.aborted !== true) throw error
  }
}
