// Opens and connects the components of a worker.

import { count } from '../../base/cli/text.ts'
import { isFatal, setBack, troubleOf, untilAnswered } from '../../base/database/trouble.ts'
import { asError, Interrupted } from '../../base/errors.ts'
import type { Secret } from '../../base/secret.ts'
import { nextAfter } from '../../base/time/cron.ts'
import { dayMs, formatDate, instantsOf, wallTime } from '../../base/time/zone.ts'
import { answer, type Outcome, type Steps, stepsOf, type Tools } from '../../pipeline.ts'
import { monthsOf } from '../ledger/account.ts'
import { openAccount } from '../ledger/books.ts'
import type { Reserved, Spender } from '../ledger/reserve.ts'
import { keyAnsweredSince } from '../ledger/standstill.ts'
import { anyLost, claimLost, type LostAnswer, saveReplay, takeTurn } from '../ledger/waiting.ts'
import type { Mill } from '../mill.ts'
import type { SliceJob } from '../queue/slice-jobs.ts'
import { endRound, openTasks } from '../queue/open-slices.ts'
import { type Api, openApi, type Reply } from '../search/call.ts'
import { type Lanes, openLanes } from '../search/concurrency.ts'
import { aheadOf, type Batch, mostFlying, openBatch, slotsFor } from './batch.ts'
import { Dispatch, type DispatchOptions, dueTasks } from './dispatch.ts'
import { Lease } from '../ledger/leases.ts'
import { Brake, Outages, KeyCheck } from './outages.ts'
import { settleAbandonedLogs } from './recovery.ts'
import { Tally } from './summary.ts'
import { expectLogFolder, logFolder, openLog, type WriteAheadLog } from './write-ahead-log.ts'

export type WorkerOptions = Tools['options'] & {
  readonly lanes: number
  readonly onKey?: (key: Secret) => void
}

type Parts = Awaited<ReturnType<typeof openParts>>

/** Opens the components that are needed first, and settles replies in dead workers' logs before any purchase. */
async function openParts(mill: Mill, options: WorkerOptions) {
  const { config, db, supplier } = mill
  expectLogFolder(mill)
  const { url, key } = await mill.api()
  const account = await openAccount(db, { name: supplier.account, kind: supplier.origin })
  const fingerprint = key.fingerprint()
  await settleAbandonedLogs(mill, settlementRules(mill, fingerprint), options.report)
  const { lanes } = options
  const api = openApi({ url, key, timeoutMs: config.timeoutMs, lanes })
  // Opens the log only after abandoned logs are settled, because their removal may free the space that the
  // new log needs.
  const log = openLog(mill, mostFlying(lanes, aheadOf(lanes, config)))
  try {
    const { creditFloor: floor, leaseMs } = config
    const lease = await Lease.open({ db, account, key: fingerprint, floor, lanes, leaseMs })
    const spender = spenderOf(mill, { account, worker: lease.worker, key: fingerprint })
    return { api, lease, spender, log }
  } catch (error) {
    await log.close()
    throw error
  }
}

function unknownCalls(mill: Mill, answers: number): Error {
  const who = answers === 1 ? 'its paid answer is kept' : `${answers} paid answers are kept`
  return setBack(
    `${count(answers, 'call')} ${answers === 1 ? 'is' : 'are'} missing; ${who} in ${logFolder(mill)}`,
  )
}

function settlementRules({ config }: Pick<Mill, 'config'>, key: string) {
  return { key, floor: config.creditFloor, rebuy: config.unknown === 'retry' }
}

export function spenderOf(
  mill: Pick<Mill, 'config' | 'supplier'>,
  { account, worker, key }: { account: number; worker: number; key: string },
): Spender {
  const { config, supplier } = mill
  const { dailyBudget, monthlyBudget, rateLimit, mostInFlight } = config
  const { renewal, probeEveryMs, zone } = config
  return {
    ...settlementRules(mill, key),
    account,
    worker,
    origin: supplier.origin,
    api: supplier.api,
    ...{ dailyBudget, monthlyBudget, rateLimit, mostInFlight },
    dayOf: (time) => dayOf(zone, time),
    monthOf: monthsOf(renewal, zone),
    renewalAfter: (time) => {
      const renewed = renewal === null ? null : nextAfter(renewal, zone, new Date(time))
      const soonest = Math.min(renewed?.getTime() ?? Infinity, time + (probeEveryMs ?? Infinity))
      return soonest === Infinity ? null : soonest
    },
    givenUp: new Set(),
    begun: { seq: 0 },
  }
}

/** Returns the local date of an instant, and the time when that date ends. */
function dayOf(zone: string, time: number): { day: string; ends: number } {
  const wall = wallTime(zone, new Date(time))
  const midnight = Math.floor(wall / dayMs) * dayMs + dayMs
  return { day: formatDate(wall), ends: instantsOf(zone, midnight)[0] ?? time + dayMs }
}

/** Pause before the next reservation, by kind of failure. */
const pausesMs = { away: 250, conflict: 50, data: 1_000 } as const

/** A worker with all its components. `work.ts` runs it. */
export class Worker implements Tools, DispatchOptions {
  readonly mill: Mill
  readonly options: WorkerOptions
  readonly api: Api
  readonly lease: Lease
  readonly spender: Spender
  readonly log: WriteAheadLog
  readonly tally = new Tally()
  readonly outages = new Outages()
  readonly keyCheck: KeyCheck = new KeyCheck((task) => this.#refutedBefore(task))
  readonly lanes: Lanes
  readonly brake: Brake
  readonly batch: Batch
  readonly steps = stepsOf(this)
  readonly dispatch = new Dispatch(this)
  readonly lost: ReturnType<typeof askForLostAnswers>
  readonly slots: number
  readonly #mostFlying: number
  #ending = false
  handling = 0
  #lastSlice = performance.now()
  fatal: Error | null = null

  private constructor(mill: Mill, options: WorkerOptions, parts: Parts) {
    this.mill = mill
    this.options = options
    this.api = parts.api
    this.lease = parts.lease
    this.spender = parts.spender
    this.log = parts.log
    this.slots = slotsFor(options.lanes)
    const ahead = aheadOf(options.lanes, mill.config)
    this.lanes = openLanes(options.lanes, ahead)
    this.#mostFlying = mostFlying(options.lanes, ahead)
    this.batch = openBatch(mill, parts.spender, {
      counted: ahead === 0,
      onRecorded: (calls) => this.log.settle(calls),
      onAway: (away) => this.outages.markDatabase(away, options.report),
      onStuck: (error) => (this.fatal = asError(error)),
      onStrangers: ({ length }) => (this.fatal = unknownCalls(mill, length)),
    })
    this.brake = new Brake({
      lease: parts.lease,
      timeoutMs: mill.config.timeoutMs,
      outages: this.outages,
      nudge: this.nudge,
    })
    this.lost = askForLostAnswers(this)
  }

  static async open(mill: Mill, options: WorkerOptions): Promise<Worker> {
    const parts = await openParts(mill, options)
    return new Worker(mill, options, parts)
  }

  readonly onReply = (reply: Reply): void => this.lost.readReply(reply)
  readonly nudge = (): void => this.dispatch.nudge()

  /** Processes a slice until all its tasks have ended or must wait. */
  async handle(job: SliceJob): Promise<void> {
    // Another worker will take the slice.
    if (this.#ending) throw new Interrupted('this worker is ending')
    this.handling += 1
    this.#lastSlice = performance.now()
    this.tally.runs.add(job.run)
    try {
      const found = await openTasks(this.mill.db, job)
      if (found === null) return
      const left = await this.dispatch.take(dueTasks(found, job.run))
      await endSliceRound(this.mill, job, { busy: left.busy, ending: () => this.#ending })
    } finally {
      this.handling -= 1
      this.#lastSlice = performance.now()
    }
  }

  /** Milliseconds since the last delivery of a slice, or 0 while a slice is being processed. */
  get idleFor(): number {
    return this.handling > 0 ? 0 : performance.now() - this.#lastSlice
  }

  /** Switches to a new key. Replies to earlier calls are still recorded for the old key. */
  turnKey(key: Secret): void {
    this.api.turnKey(key)
    this.spender.key = key.fingerprint()
    this.lease.key = key.fingerprint()
    this.options.onKey?.(key)
    this.nudge()
  }

  end(): void {
    this.#ending = true
    this.brake.end()
    this.dispatch.end()
    this.lost.end()
  }

  onGate({ affordable, reused }: Reserved): void {
    this.tally.reused += reused
    // Near the floor, there may be more lanes than affordable calls.
    if (affordable !== null) this.lanes.resize(affordable)
  }

  /** True if a later call from the account returned an answer. False if the database does not respond. */
  async #refutedBefore(task: number): Promise<boolean> {
    try {
      return await keyAnsweredSince(this.mill.db, task)
    } catch (error) {
      this.onTrouble(error)
      return false
    }
  }

  free(): number {
    const room = this.#mostFlying - this.dispatch.flying
    return this.brake.allow(Math.max(0, Math.min(this.lanes.free(), room)))
  }

  onEnded(state: string): void {
    this.tally.ended(state)
  }

  onTrouble(error: unknown): number {
    const trouble = isFatal(error) ? 'data' : troubleOf(error)
    if (trouble === 'away') this.outages.markDatabase(true, this.options.report)
    if (trouble === 'data') this.fatal = asError(error)
    return pausesMs[trouble]
  }
}

const busyDelayMs = 2_000

/** Ends a slice's round. Open tasks are queued again, with a delay if a task waits for another worker's call. */
export async function endSliceRound(
  mill: Mill,
  job: SliceJob,
  { busy, ending }: { busy: boolean; ending: () => boolean },
): Promise<void> {
  const next = await untilAnswered(() => endRound(mill.db, job), ending)
  if (next === null) return
  const queue = await mill.queue()
  await queue.add([{ ...next, delayMs: Math.max(next.delayMs, busy ? busyDelayMs : 0) }])
}

const everyMs = 500

/**
 * Requests lost answers again, if the API repeats answers for an idempotency key and charges once. Repeating a
 * request reveals the outcome of a lost call without buying the query twice.
 */
function askForLostAnswers(worker: Worker) {
  const { db, config } = worker.mill
  const { account } = worker.spender
  // Time for which the API repeats an answer. If undefined (before the first answer), the value stored by
  // earlier workers is used.
  let replayMs: number | null | undefined
  let looking = false
  let ended = false
  const look = async () => {
    const perSecond = config.rateLimit
    const lanes = worker.free()
    if (looking || replayMs === null || lanes <= 0) return
    looking = true
    try {
      if (perSecond !== null && !(await takeTurn(db, { account, perSecond }))) return
      const lost = await claimLost(db, { account, limit: perSecond === null ? lanes : 1 })
      if (!ended) for (const one of lost) void askAgain(worker, one)
    } catch (error) {
      worker.onTrouble(error)
    } finally {
      looking = false
    }
  }
  const timer = setInterval(() => void look(), everyMs)
  return {
    /** Determines from a reply whether the API repeats answers, and for how long. */
    readReply: (reply: Reply) => {
      if (reply.kind !== 'response' || reply.replayMs === replayMs) return
      // A proxy's reply does not show whether the API repeats answers.
      if (reply.replayMs === null && reply.status !== 200) return
      replayMs = reply.replayMs
      saveReplay(db, account, replayMs).catch((error: unknown) => {
        replayMs = undefined
        worker.onTrouble(error)
      })
    },
    /** True while a lost answer may still arrive. A drain waits for it. */
    hopes: async () => replayMs !== null && (await anyLost(db, account)),
    end: () => {
      ended = true
      clearInterval(timer)
    },
  }
}

async function askAgain(
  worker: Worker,
  { call, mark, task: id, query_id: queryId, ...rest }: LostAnswer,
): Promise<void> {
  const { steps, log, keyCheck } = worker
  // Only answers are stored. A rejection does not show how the first request ended, because the API may reject a
  // request before it looks up the idempotency key.
  const store: Steps['store'] = async (bought): Promise<Outcome> => {
    if (bought.verdict.kind === 'answered') return steps.store(bought)
    log.settle([bought.call.id])
    keyCheck.forget(bought.task.id)
    return { state: 'open', waitMs: null }
  }
  const asked = { ...rest, id, queryId, suspect: false, refused: false }
  try {
    const outcome = await answer(asked, { id: call, mark }, { ...steps, store })
    worker.onEnded(outcome.state)
  } catch (error) {
    worker.onTrouble(error)
  }
}
