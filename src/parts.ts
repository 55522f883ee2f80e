import { Batch } from './batch.ts'
import type { Clerk, Ended, Recorded } from './credits/ended.ts'
import { record } from './credits/record.ts'
import type { Spender } from './credits/reserve.ts'
import type { Wanted } from './credits/sort.ts'
import { replay } from './kept.ts'
import { Lease } from './lease.ts'
import { spenderOf } from './market.ts'
import type { Mill } from './mill.ts'
import type { Task } from './pipeline.ts'
import { openApi, type Api } from './search/call.ts'
import { openAccount } from './store/books.ts'
import { troubleOf } from './store/trouble.ts'
import { lighten } from './verdicts.ts'

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

/** With so few lanes a lane counts until its answer is stored; a crash leaves no more than a call a lane unread. */
const countedLanes = 16

/** Most answers that are stored together. */
export const mostTogether = 128

/** Answers that may wait to be stored before anything else is bought: they fill the memory, and a crash loses them. */
export const mostUnwritten = 3 * mostTogether

/**
 * Calls reserved before a lane is free for them. None with few lanes, where certainty after a crash is worth more, and
 * none under a rate limit, which counts from the reservation.
 */
export function aheadOf(lanes: number, rateLimit: number | null): number {
  return lanes <= countedLanes || rateLimit !== null ? 0 : Math.ceil(lanes / 4)
}

/**
 * Calls that may be reserved, on their way or waiting to be stored. With few lanes one for each of them: a crash leaves
 * no more than a call a lane unread.
 */
export function mostFlying(lanes: number, ahead: number): number {
  return lanes <= countedLanes ? lanes : lanes + ahead + mostUnwritten
}

/** Slices at work: enough for lanes, calls ahead and answers being stored, although a slice ends with its slowest. */
export function slotsFor(lanes: number): number {
  const storing = lanes <= countedLanes ? 0 : mostUnwritten
  return Math.ceil((lanes * 1.5 + storing) / 25) + 1
}

/** What a task asks of the gate. */
export function askOf({ id, class: kind, priority }: Task): Wanted {
  return { task: id, class: kind, priority }
}

/** What a worker is made of that has to be opened first. */
export interface Parts {
  readonly api: Api
  readonly lease: Lease
  readonly spender: Spender
  readonly clerk: Clerk
}

/** Opens the parts of a worker; what an earlier one left in files is settled before anything is bought. */
export async function openParts(mill: Mill, options: WorkerOptions): Promise<Parts> {
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
  return { api, lease, spender, clerk }
}

/** Writes down what ended; gives back one line for each, in their order. */
async function recordAll(
  mill: Mill,
  clerk: Clerk,
  ended: readonly Ended[],
): Promise<readonly Recorded[]> {
  const recorded = await record(mill.db, clerk, ended)
  const byCall = new Map(recorded.map((one) => [one.call, one]))
  return ended.map(({ call }) => byCall.get(call) ?? { call, task: 0, state: 'open', waitMs: null })
}

/** Gathers what ended and writes it down together. */
export function openBatch(
  mill: Mill,
  clerk: Clerk,
  { lanes, onAway }: { lanes: number; onAway: (away: boolean) => void },
): Batch<Ended, Recorded> {
  return new Batch<Ended, Recorded>({
    size: mostTogether,
    // With few lanes one of them waits for each commit; with many a little patience makes larger groups.
    delayMs: lanes <= countedLanes ? 5 : 10,
    writers: 2,
    write: (ended) => recordAll(mill, clerk, ended),
    judge: troubleOf,
    lighten,
    onAway,
  })
}
