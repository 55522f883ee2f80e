import type { Secret } from '../../base/secret.ts'
import { nextAfter } from '../../base/time/cron.ts'
import { dayMs, formatDate, instantsOf, wallTime } from '../../base/time/zone.ts'
import { monthsOf } from '../ledger/account.ts'
import { openAccount } from '../ledger/books.ts'
import type { Spender } from '../ledger/reserve.ts'
import type { Clerk } from '../ledger/settle.ts'
import type { Mill } from '../mill.ts'
import type { Moment } from '../../pipeline.ts'
import { type Api, openApi } from '../search/call.ts'
import { aheadOf, mostFlying } from './batch.ts'
import { Lease } from './lease.ts'
import { expectFolder, replay, type Reserve, takeRoom } from './spool.ts'

export interface WorkerOptions {
  readonly lanes: number
  readonly tell: (line: string) => void
  /** Called at each of the moments; for tests that kill the process there. */
  readonly at?: (moment: Moment) => void
  /** Told of another key that is used from here on. */
  readonly onKey?: (key: Secret) => void
  /** Told how many seconds each paid request took. */
  readonly onCall?: (seconds: number) => void
}

/** The parts of a worker that have to be opened before it can be put together. */
export interface Parts {
  readonly api: Api
  readonly lease: Lease
  readonly spender: Spender
  readonly clerk: Clerk
  readonly reserve: Reserve
}

/** Opens the parts of a worker; what an earlier one left in files is settled before anything is bought. */
export async function openParts(mill: Mill, options: WorkerOptions): Promise<Parts> {
  const { config, db, supplier } = mill
  expectFolder(mill)
  const { url, key } = await mill.api()
  const account = await openAccount(db, { name: supplier.account, kind: supplier.origin })
  const fingerprint = key.fingerprint()
  const clerk = {
    account,
    key: fingerprint,
    floor: config.creditFloor,
    rebuy: config.unknown === 'retry',
  }
  await replay(mill, clerk, options.tell)
  const { lanes } = options
  const api = openApi({ url, key, timeoutMs: config.timeoutMs, lanes })
  // After the files, which may hold the very room that is needed.
  const reserve = takeRoom(mill, mostFlying(lanes, aheadOf(lanes, config)))
  try {
    const floor = config.creditFloor
    const lease = await Lease.open({ db, account, floor, lanes, leaseMs: config.leaseMs })
    const spender = spenderOf(mill, { account, worker: lease.worker, key: fingerprint })
    return { api, lease, spender, clerk, reserve }
  } catch (error) {
    reserve.release()
    throw error
  }
}

/** Who buys, and the rules of the settings for it. */
export function spenderOf(
  { config, supplier }: Pick<Mill, 'config' | 'supplier'>,
  { account, worker, key }: { account: number; worker: number; key: string },
): Spender {
  const { renewal, probeEveryMs, zone } = config
  return {
    account,
    worker,
    origin: supplier.origin,
    api: supplier.api,
    key,
    floor: config.creditFloor,
    dailyBudget: config.dailyBudget,
    monthlyBudget: config.monthlyBudget,
    rateLimit: config.rateLimit,
    mostInFlight: config.mostInFlight,
    dayOf: (time) => dayOf(zone, time),
    monthOf: monthsOf(renewal, zone),
    renewalAfter: (time) => {
      const renewed = renewal === null ? null : nextAfter(renewal, zone, new Date(time))
      const next = [renewed?.getTime() ?? Infinity, time + (probeEveryMs ?? Infinity)]
      const soonest = Math.min(...next)
      return soonest === Infinity ? null : soonest
    },
    givenUp: new Set(),
    begun: { seq: 0 },
  }
}

/** The local date of an instant, and the instant at which that date ends. */
function dayOf(zone: string, time: number): { day: string; ends: number } {
  const wall = wallTime(zone, new Date(time))
  const midnight = Math.floor(wall / dayMs) * dayMs + dayMs
  return { day: formatDate(wall), ends: instantsOf(zone, midnight)[0] ?? time + dayMs }
}
