import type { Batch } from './batch.ts'
import { Brake } from './brake.ts'
import type { Clerk, Ended, Recorded } from '../../credits/entry.ts'
import { reserve, type Spender } from '../../credits/reserve.ts'
import { Dispatch } from './dispatch.ts'
import { asError, Interrupted } from '../../shared/errors.ts'
import type { Lease } from './lease.ts'
import type { Mill } from '../mill/mill.ts'
import { Outages } from './outages.ts'
import { aheadOf, mostFlying, slotsFor } from './capacity.ts'
import { openParts, type Parts, type WorkerOptions } from './setup.ts'
import { openBatch } from './recording.ts'
import type { Bought, Outcome, Task } from '../../pipeline.ts'
import { endSliceRound } from './slice.ts'
import type { SliceJob } from '../../queue/slices.ts'
import type { Api, Reply } from '../../search/call.ts'
import { openLanes, type Lanes } from '../../search/lane.ts'
import { judge } from '../../search/verdict.ts'
import { openTasks } from '../../store/slices.ts'
import { troubleOf } from '../../store/trouble.ts'
import { Tally } from './tally.ts'
import { askOf, dueTasks } from './tasks.ts'
import { turn } from './yield.ts'
import { endedOf } from './entry.ts'

const gatherMs = 3
/** Before the gate is asked again. */
const pausesMs = { away: 250, conflict: 50, data: 1_000 } as const

/** The parts of one worker, put together: what it does with them is in `work.ts`. */
export class Worker {
  readonly tally = new Tally()
  readonly outages = new Outages()
  readonly dispatch: Dispatch
  readonly batch: Batch<Ended, Recorded>
  readonly slots: number
  readonly #mill: Mill
  readonly #options: WorkerOptions
  readonly #lanes: Lanes
  readonly #mostFlying: number
  readonly #known = new Set<number>()
  readonly #brake: Brake
  #api: Api
  #ending = false
  #handling = 0
  #lastSlice = performance.now()
  fatal: Error | null = null

  private constructor(mill: Mill, options: WorkerOptions, parts: Parts) {
    this.#mill = mill
    this.#options = options
    this.#api = parts.api
    this.lease = parts.lease
    this.spender = parts.spender
    this.clerk = parts.clerk
    this.slots = slotsFor(options.lanes)
    const ahead = aheadOf(options.lanes, mill.config.rateLimit)
    this.#lanes = openLanes(options.lanes, ahead)
    this.#mostFlying = mostFlying(options.lanes, ahead)
    this.batch = openBatch(mill, parts.clerk, {
      lanes: options.lanes,
      onAway: (away) => this.outages.tell(away, options.tell),
      onStuck: (error) => (this.fatal = asError(error)),
    })
    this.dispatch = this.#openDispatch()
    this.#brake = new Brake({
      lease: parts.lease,
      timeoutMs: mill.config.timeoutMs,
      outages: this.outages,
      nudge: () => this.dispatch.nudge(),
    })
  }

  readonly lease: Lease
  readonly spender: Spender
  readonly clerk: Clerk

  static async open(mill: Mill, options: WorkerOptions): Promise<Worker> {
    return new Worker(mill, options, await openParts(mill, options))
  }

  /** Works on one slice until each of its tasks has ended or has to wait. */
  async handle(job: SliceJob): Promise<void> {
    // Another worker takes it: this one is putting things away.
    if (this.#ending) throw new Interrupted('this worker is ending')
    this.#handling += 1
    this.#lastSlice = performance.now()
    try {
      const found = await openTasks(this.#mill.db, job)
      if (found === null) return
      const left = await this.dispatch.take(dueTasks(found, job.run))
      await endSliceRound(this.#mill, job, { busy: left.busy, ending: () => this.#ending })
    } finally {
      this.#handling -= 1
      this.#lastSlice = performance.now()
    }
  }

  /** Slices at work. */
  get handling(): number {
    return this.#handling
  }

  /** Milliseconds since the queue last had something for this worker; 0 while a slice is at work. */
  get idleFor(): number {
    return this.#handling > 0 ? 0 : performance.now() - this.#lastSlice
  }

  /** Calls of this worker whose end is not written down yet. */
  get known(): ReadonlySet<number> {
    return this.#known
  }

  /** Starts nothing further. */
  end(): void {
    this.#ending = true
    this.#brake.end()
    this.dispatch.end()
  }

  /** Cuts the calls that are still in flight: perhaps charged, and written down as such. */
  async cut(): Promise<void> {
    await this.#api.close()
  }

  #openDispatch(): Dispatch {
    return new Dispatch({
      steps: {
        gate: (tasks) => this.#gate(tasks),
        call: (task) => this.#callInLane(task),
        parse: judge,
        store: (bought) => this.#store(bought),
      },
      free: () => this.#free(),
      onGate: ({ affordable, reused }) => {
        this.tally.reused += reused
        // Near the floor fewer calls may be on their way at once than lanes were asked for.
        this.#lanes.resize(affordable)
      },
      onTrouble: (error) => this.#onTrouble(error),
      onEnded: (_task, state) => this.tally.ended(state),
    })
  }

  async #gate(tasks: readonly Task[]) {
    this.#options.at?.('before_reserve')
    const reserved = await reserve(this.#mill.db, this.spender, tasks.map(askOf))
    this.outages.tell(false, this.#options.tell)
    for (const call of reserved.granted.values()) this.#known.add(call)
    if (reserved.granted.size > 0) this.#options.at?.('reserved')
    return reserved
  }

  #free(): number {
    const room = this.#mostFlying - this.dispatch.flying
    return this.#brake.allow(Math.max(0, Math.min(this.#lanes.free(), room)))
  }

  async #callInLane(task: Task): Promise<Reply> {
    const reply = await this.#lanes.run(() => this.#call(task))
    // The lane is free long before the answer is stored; lanes that are freed together make one group at the gate.
    setTimeout(() => this.dispatch.nudge(), gatherMs)
    await turn()
    return reply
  }

  async #call(task: Task): Promise<Reply> {
    const held = this.#brake.heldBack()
    if (held !== null) return { kind: 'unsent', code: held, message: 'released before it was sent' }
    const begun = performance.now()
    const reply = await this.#api.call(task.query)
    this.#options.onCall?.((performance.now() - begun) / 1000)
    return reply
  }

  async #store(bought: Bought): Promise<Outcome> {
    const { verdict } = bought
    this.#options.at?.('replied')
    this.tally.reply(verdict)
    this.#brake.heed(bought)
    const recorded = await this.batch.add(endedOf(bought, this.#mill.market))
    this.#brake.written(verdict)
    this.#known.delete(bought.call)
    this.#options.at?.('stored')
    return recorded
  }

  #onTrouble(error: unknown): number {
    const trouble = troubleOf(error)
    if (trouble === 'away') this.outages.tell(true, this.#options.tell)
    if (trouble === 'data') this.fatal = asError(error)
    return pausesMs[trouble]
  }
}
