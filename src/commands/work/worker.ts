import { LostAnswers } from './lost-answers.ts'
import { openBatch, type Batch } from './batch.ts'
import { Brake } from './brake.ts'
import type { Clerk } from '../../credits/entry.ts'
import type { Spender } from '../../credits/decision.ts'
import type { Reserved } from '../../credits/decide.ts'
import { Dispatch } from './dispatch.ts'
import type { Secret } from '../../shared/secret.ts'
import { asError, Interrupted } from '../../shared/errors.ts'
import type { Lease } from './lease.ts'
import type { Mill } from '../mill/mill.ts'
import { Outages } from './outages.ts'
import { aheadOf, mostFlying, slotsFor } from './capacity.ts'
import type { Reserve } from './reserve.ts'
import { notKnown } from './unwritten.ts'
import { openParts, type Parts, type WorkerOptions } from './setup.ts'
import { endSliceRound } from './slice.ts'
import type { Steps, Task } from '../../pipeline.ts'
import type { SliceJob } from '../../queue/slices.ts'
import type { Api } from '../../search/call.ts'
import { openLanes, type Lanes } from '../../search/lane.ts'
import { stepsOf } from './steps.ts'
import { keyAnsweredSince } from '../../store/ledger/standstill.ts'
import { openTasks } from '../../store/slices.ts'
import { isFatal, troubleOf } from '../../store/trouble.ts'
import { Tally } from './tally.ts'
import { dueTasks } from './tasks.ts'
import { Witnesses } from './witnesses.ts'

/** How long a worker waits before it asks the gate again, by what went wrong. */
const pausesMs = { away: 250, conflict: 50, data: 1_000 } as const

/** The parts of one worker, put together: what it does with them is in `work.ts`. */
export class Worker {
  readonly tally = new Tally()
  readonly outages = new Outages()
  readonly dispatch: Dispatch
  readonly lost: LostAnswers
  readonly batch: Batch
  readonly slots: number
  readonly #mill: Mill
  readonly #options: WorkerOptions
  readonly #lanes: Lanes
  readonly #mostFlying: number
  readonly #brake: Brake
  readonly #api: Api
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
    this.reserve = parts.reserve
    this.slots = slotsFor(options.lanes)
    const ahead = aheadOf(options.lanes, mill.config)
    this.#lanes = openLanes(options.lanes, ahead)
    this.#mostFlying = mostFlying(options.lanes, ahead)
    const room = { account: parts.clerk.account, reserve: parts.reserve }
    this.batch = openBatch(mill, parts.clerk, {
      lanes: options.lanes,
      counted: ahead === 0,
      onAway: (away) => this.outages.markDatabase(away, options.tell),
      onStuck: (error) => (this.fatal = asError(error)),
      onStrangers: (entries) => (this.fatal = notKnown(mill, room, entries)),
    })
    this.#brake = new Brake({
      lease: parts.lease,
      timeoutMs: mill.config.timeoutMs,
      outages: this.outages,
      nudge: () => this.dispatch.nudge(),
    })
    const shared = {
      steps: this.#steps(),
      free: () => this.#free(),
      onTrouble: (error: unknown) => this.#onTrouble(error),
      onEnded: (task: Task, state: string) => this.tally.ended(state, task.class),
    }
    this.dispatch = new Dispatch({ ...shared, onGate: (reserved) => this.#onGate(reserved) })
    this.lost = new LostAnswers({
      ...{ ...shared, db: mill.db, account: parts.clerk.account },
      perSecond: mill.config.rateLimit,
    })
  }

  readonly lease: Lease
  readonly spender: Spender
  readonly clerk: Clerk
  readonly reserve: Reserve

  static async open(mill: Mill, options: WorkerOptions): Promise<Worker> {
    return new Worker(mill, options, await openParts(mill, options))
  }

  /** Works on one slice until each of its tasks has ended or has to wait. */
  async handle(job: SliceJob): Promise<void> {
    // Another worker takes it: this one is putting things away.
    if (this.#ending) throw new Interrupted('this worker is ending')
    this.#handling += 1
    this.#lastSlice = performance.now()
    this.tally.runs.add(job.run)
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

  /** Goes on with another key; what the old one was told stays in the books for the old one. */
  turnKey(key: Secret): void {
    this.#api.turnKey(key)
    this.spender.key = key.fingerprint()
    this.clerk.key = key.fingerprint()
    this.#options.onKey?.(key)
    this.dispatch.nudge()
  }

  /** Starts nothing further. */
  end(): void {
    this.#ending = true
    this.#brake.end()
    this.dispatch.end()
    this.lost.end()
  }

  /** Cuts the calls that are still in flight: perhaps charged, and written down as such. */
  async cut(): Promise<void> {
    await this.#api.close()
  }

  #steps(): Steps {
    return stepsOf({
      mill: this.#mill,
      options: this.#options,
      spender: this.spender,
      lease: this.lease,
      api: this.#api,
      lanes: this.#lanes,
      brake: this.#brake,
      batch: this.batch,
      tally: this.tally,
      witnesses: new Witnesses((task) => this.#refutedBefore(task)),
      outages: this.outages,
      onReply: (reply) => this.lost.hear(reply),
      nudge: () => this.dispatch.nudge(),
    })
  }

  #onGate({ affordable, reused }: Reserved): void {
    this.tally.reused += reused
    // Near the floor fewer calls may be on their way at once than lanes were asked for.
    if (affordable !== null) this.#lanes.resize(affordable)
  }

  /** A database that does not say refutes nothing. */
  async #refutedBefore(task: number): Promise<boolean> {
    try {
      return await keyAnsweredSince(this.#mill.db, task)
    } catch (error) {
      this.#onTrouble(error)
      return false
    }
  }

  #free(): number {
    const room = this.#mostFlying - this.dispatch.flying
    return this.#brake.allow(Math.max(0, Math.min(this.#lanes.free(), room)))
  }

  #onTrouble(error: unknown): number {
    const trouble = isFatal(error) ? 'data' : troubleOf(error)
    if (trouble === 'away') this.outages.markDatabase(true, this.#options.tell)
    if (trouble === 'data') this.fatal = asError(error)
    return pausesMs[trouble]
  }
}
