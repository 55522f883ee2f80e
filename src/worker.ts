import { Batch } from './batch.ts'
import { Brake } from './brake.ts'
import type { Clerk, Ended, Recorded } from './credits/ended.ts'
import { record } from './credits/record.ts'
import { reserve, type Spender } from './credits/reserve.ts'
import { Dispatch } from './dispatch.ts'
import { Interrupted } from './errors.ts'
import { replay } from './kept.ts'
import { Lease } from './lease.ts'
import { spenderOf } from './market.ts'
import type { Mill } from './mill.ts'
import { Outages } from './outage.ts'
import { taskOf, type Bought, type Outcome, type Task } from './pipeline.ts'
import type { SliceJob } from './queue/slices.ts'
import { openApi, type Api, type Reply } from './search/call.ts'
import { openLanes, type Lanes } from './search/lane.ts'
import { judge } from './search/verdict.ts'
import { openAccount } from './store/books.ts'
import { endRound, openTasks } from './store/slices.ts'
import { troubleOf } from './store/trouble.ts'
import { Tally } from './tally.ts'
import { endedOf, lighten } from './verdicts.ts'

/** Moments at which a test may end the process. */
export type Moment = 'before_reserve' | 'reserved' | 'replied' | 'stored'

export interface WorkerOptions {
  readonly lanes: number
  readonly tell: (line: string) => void
  /** Called at each of the moments; for tests that kill the process there. */
  readonly at?: (moment: Moment) => void
  /** Told how many seconds each paid request took. */
  readonly onCall?: (seconds: number) => void
}

/** Slices at work beyond what the lanes need, so that no lane waits for the next slice. */
const slotsFor = (lanes: number) => Math.ceil((lanes * 1.25) / 25) + 1
const busyDelayMs = 2_000
const countedLanes = 16

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
  readonly #known = new Set<number>()
  readonly #brake: Brake
  #api: Api
  #ending = false
  #handling = 0
  #lastSlice = performance.now()
  fatal: Error | null = null

  private constructor(
    mill: Mill,
    options: WorkerOptions,
    parts: { api: Api; lease: Lease; spender: Spender; clerk: Clerk },
  ) {
    this.#mill = mill
    this.#options = options
    this.#api = parts.api
    this.lease = parts.lease
    this.spender = parts.spender
    this.clerk = parts.clerk
    this.slots = slotsFor(options.lanes)
    this.#lanes = openLanes(options.lanes)
    this.batch = this.#openBatch()
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
    const { config, db, market } = mill
    const { url, key } = await mill.api()
    const account = await openAccount(db, { name: market.account, kind: market.origin })
    const fingerprint = key.fingerprint()
    const clerk = {
      account,
      key: fingerprint,
      floor: config.creditFloor,
      rebuy: config.unknown === 'retry',
    }
    await replay(mill, clerk, options.tell)
    const { lanes } = options
    const floor = config.creditFloor
    const lease = await Lease.open({ db, account, floor, lanes, leaseMs: config.leaseMs })
    const api = openApi({ url, key, timeoutMs: config.timeoutMs, lanes })
    const spender = spenderOf(mill, { account, worker: lease.worker, key: fingerprint })
    return new Worker(mill, options, { api, lease, spender, clerk })
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
      const due = found.tasks.filter(({ wait_ms }) => wait_ms <= 0)
      const tasks = due.map((task) => taskOf(task, job.run, found.priority))
      const left = await this.dispatch.take(tasks)
      await this.#endRound(job, left.busy)
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

  #openBatch(): Batch<Ended, Recorded> {
    return new Batch<Ended, Recorded>({
      size: 64,
      delayMs: 5,
      writers: 2,
      write: (ended) => this.#record(ended),
      judge: troubleOf,
      lighten,
      onAway: (away) => this.#mark('the database', away),
    })
  }

  #openDispatch(): Dispatch {
    return new Dispatch({
      steps: {
        gate: (tasks) => this.#gate(tasks),
        call: (task) => this.#lanes.run(() => this.#call(task)),
        parse: judge,
        store: (bought) => this.#store(bought),
      },
      free: () => this.#free(),
      onGate: ({ affordable, reused }) => {
        this.tally.reused += reused
        // Near the floor fewer calls may be on their way at once than lanes were asked for.
        this.#lanes.resize(Math.min(this.#options.lanes, affordable))
      },
      onTrouble: (error) => this.#onTrouble(error),
      onEnded: (_task, state) => this.tally.ended(state),
    })
  }

  async #gate(tasks: readonly Task[]) {
    this.#options.at?.('before_reserve')
    const wanted = tasks.map((task) => ({
      task: task.id,
      class: task.class,
      priority: task.priority,
    }))
    const reserved = await reserve(this.#mill.db, this.spender, wanted)
    this.#mark('the database', false)
    for (const call of reserved.granted.values()) this.#known.add(call)
    if (reserved.granted.size > 0) this.#options.at?.('reserved')
    return reserved
  }

  #free(): number {
    const { lanes } = this.#options
    // A crash leaves what is on its way or being stored unread: with few lanes, never more than one call a lane.
    // With many, waiting for each commit would leave lanes empty for longer than that certainty is worth.
    const storing = lanes <= countedLanes ? lanes - this.dispatch.flying : lanes
    return this.#brake.allow(Math.min(this.#lanes.free(), storing))
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

  async #record(ended: readonly Ended[]): Promise<readonly Recorded[]> {
    const recorded = await record(this.#mill.db, this.clerk, ended)
    const byCall = new Map(recorded.map((one) => [one.call, one]))
    return ended.map(
      ({ call }) => byCall.get(call) ?? { call, task: 0, state: 'open', waitMs: null },
    )
  }

  #onTrouble(error: unknown): number {
    switch (troubleOf(error)) {
      case 'away':
        this.#mark('the database', true)
        return 250
      case 'conflict':
        return 50
      case 'data':
        this.fatal = error instanceof Error ? error : new Error(String(error))
        return 1_000
      default:
        throw new Error('unhandled trouble', { cause: error })
    }
  }

  #mark(part: 'the database', away: boolean): void {
    const was = this.outages.away(part)
    this.outages.mark(part, away)
    if (away && !was)
      this.#options.tell('the database is out of reach: no call begins until it is back')
    if (!away && was) this.#options.tell('the database is back')
  }

  async #endRound(job: SliceJob, busy: boolean): Promise<void> {
    const next = await this.#patiently(() => endRound(this.#mill.db, job))
    if (next === null) return
    const delayMs = Math.max(next.delay_ms, busy ? busyDelayMs : 0)
    const { run, slice, round, priority } = next
    const queue = await this.#mill.queue()
    await queue.add([{ run, slice, round, priority, delayMs }])
  }

  /** Waits out a database that is away, as long as this worker goes on. */
  async #patiently<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (troubleOf(error) === 'data' || (this.#ending && troubleOf(error) === 'away'))
          throw error
        await new Promise((resolve) => setTimeout(resolve, 250))
      }
    }
  }
}
