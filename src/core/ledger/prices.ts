// Learns what calls of each class cost, and bounds what the next one may cost.

import type { Origin } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { constants } from './account.ts'
import { floorInForce, shownBalance } from './standstill.ts'

/** Prices of one class so far. */
export interface Cost {
  readonly dearest: number
  readonly cheapest: number
  readonly seen: number
  /** True while the one call of a class never seen before is in flight. */
  readonly trying: boolean
  readonly recent: Peak
  /** The prices before the recent ones. */
  readonly earlier: Peak
}

/** The two greatest of some prices; equal where the greatest was seen twice. */
interface Peak {
  readonly first: number
  readonly second: number
  readonly count: number
}

export const noPeak: Peak = { first: 0, second: 0, count: 0 }

/** A class of which nothing is known. */
export const unknownCost: Cost = {
  dearest: 0,
  cheapest: 0,
  seen: 0,
  trying: false,
  recent: noPeak,
  earlier: noPeak,
}

/** The two greatest prices of both together. */
export function higher(a: Peak, b: Peak): Peak {
  return {
    first: Math.max(a.first, b.first),
    second: Math.max(Math.min(a.first, b.first), a.second, b.second),
    count: a.count + b.count,
  }
}

export type Costs = ReadonlyMap<string, Cost>

/** Prices of one class that were heard together. */
export interface Heard {
  readonly peak: Peak
  readonly cheapest: number
  /** True when the call of a class never seen before, or of one that is tried, is among those that ended. */
  readonly tried: boolean
}

/** The same with another price, or with a call that ended and told none. */
export function hear(heard: Heard | undefined, price: number | null, tried: boolean): Heard {
  const before = heard ?? { peak: noPeak, cheapest: Number.MAX_SAFE_INTEGER, tried: false }
  return {
    peak: price === null ? before.peak : higher(before.peak, { first: price, second: 0, count: 1 }),
    cheapest: price === null ? before.cheapest : Math.min(before.cheapest, price),
    tried: before.tried || tried,
  }
}

/** Upper bounds of the cost of a call: when it goes out alone, and among others. */
export interface Bound {
  /** Bound of a call that goes out alone. */
  readonly alone: number
  /** Bound of one call among several: wider while the class is young. */
  readonly among: number
  readonly unseen: boolean
}

/** A class never seen takes twice the dearest of all; a young one keeps a distance while there is room. */
export function boundOf(costs: Costs, name: string): Bound {
  const cost = costs.get(name)
  if (cost === undefined || cost.seen === 0) {
    const dearest = dearestOfAll(costs)
    if (dearest === null)
      return { alone: constants.firstBound, among: constants.firstBound, unseen: true }
    return { alone: 2 * dearest.alone, among: 2 * dearest.among, unseen: true }
  }
  return { ...boundOfSeen(cost), unseen: false }
}

/** The greatest bounds of any class seen so far; null before the first. */
export function dearestOfAll(costs: Costs): { alone: number; among: number } | null {
  const seen = [...costs.values()].filter((cost) => cost.seen > 0)
  if (seen.length === 0) return null
  const bounds = seen.map((cost) => {
    const { alone, among } = boundOfSeen(cost)
    // The distance that a young class keeps is its own.
    return { alone, among: cost.seen < constants.trustedAfter ? alone : among }
  })
  return {
    alone: Math.max(...bounds.map(({ alone }) => alone)),
    among: Math.max(...bounds.map(({ among }) => among)),
  }
}

function boundOfSeen(cost: Cost): { alone: number; among: number } {
  if (cost.seen < constants.trustedAfter) {
    // A free answer may be a courtesy of the first calls: one credit is the least that is held.
    const alone = Math.max(1, cost.dearest)
    return { alone, among: Math.max(constants.firstBound, constants.youngFactor * alone) }
  }
  const { first, second } = higher(cost.recent, cost.earlier)
  const odd = first >= constants.oddFactor * Math.max(1, second)
  return { alone: Math.max(1, odd ? second : first), among: Math.max(1, first) }
}

/** Dearest and average price of one class. */
export interface ClassCost {
  readonly class: string
  readonly dearest: number
  /** Of the newest calls; null when none of them was of this class. */
  readonly average: number | null
}

/** Balance, floor and prices of an account. */
export interface Funds {
  /** Credits left after the calls in flight; null before the first balance. */
  readonly remaining: number | null
  readonly observedAt: Date | null
  /** The floor in force; null where no worker lives. */
  readonly floor: number | null
  readonly costs: readonly ClassCost[]
}

const newest = 2000

/** Reads balance and prices; an account that was never used has neither. */
export async function readFunds(
  db: Database,
  account: { readonly name: string; readonly kind: Origin },
): Promise<Funds> {
  const found = await sql<{
    id: number
    remaining: number | null
    observedAt: Date | null
    floor: number | null
  }>`
    select
      a.id,
      ${shownBalance} - a.reserved - a.uncertain as remaining,
      a.obs_at as "observedAt",
      ${floorInForce} as floor
    from accounts as a
    where a.name = ${account.name}
      and a.kind = ${account.kind}`.execute(db)
  const [row] = found.rows
  if (row === undefined) return { remaining: null, observedAt: null, floor: null, costs: [] }
  const { remaining, observedAt, floor } = row
  return { remaining, observedAt, floor, costs: await readCosts(db, row.id) }
}

async function readCosts(db: Database, account: number): Promise<readonly ClassCost[]> {
  const { rows } = await sql<ClassCost>`
    select
      account_costs.class,
      account_costs.dearest,
      recent.average::double precision as average
    from account_costs
    left join (
      select class, avg(credits_used) as average
      from (
        select class, credits_used
        from calls
        where account_id = ${account}
          and outcome = 'settled'
          and http_status = 200
          and credits_used is not null
        order by id desc
        limit ${newest}
      ) as newest_calls
      group by class
    ) as recent using (class)
    where account_id = ${account}
      and account_costs.seen > 0
      and account_costs.dearest is not null`.execute(db)
  return rows
}
