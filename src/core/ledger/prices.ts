// Tracks the cost of calls in each price class, and bounds the cost of the next call.

import type { Origin } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { constants, costClass } from './account.ts'
import { floorInForce, shownBalance } from './standstill.ts'

export interface Cost {
  readonly dearest: number
  readonly cheapest: number
  readonly seen: number
  /** True while the first call in a new price class is in flight. */
  readonly trying: boolean
  readonly recent: Peak
  /** Highest costs of calls that are too old to be in `recent`. */
  readonly earlier: Peak
}

/** The two highest costs in a set; equal if the highest cost occurs twice. */
interface Peak {
  readonly first: number
  readonly second: number
  readonly count: number
}

export const noPeak: Peak = { first: 0, second: 0, count: 0 }

export const unknownCost: Cost = {
  dearest: 0,
  cheapest: 0,
  seen: 0,
  trying: false,
  recent: noPeak,
  earlier: noPeak,
}

export function higher(a: Peak, b: Peak): Peak {
  return {
    first: Math.max(a.first, b.first),
    second: Math.max(Math.min(a.first, b.first), a.second, b.second),
    count: a.count + b.count,
  }
}

export type Costs = ReadonlyMap<string, Cost>

/** Costs of calls in one batch that have the same price class. */
export interface ReportedCosts extends Peak {
  readonly class: string
  readonly cheapest: number
  /** True if the finished calls include the trial call in a new price class. */
  readonly tried: boolean
}

/** Upper bounds on a call's cost if the call is sent `alone` or `among` other calls. */
export type Bound = ReturnType<typeof boundOf>

/** Bounds a call's cost. In a new class, the bound is twice the highest cost of all classes. */
export function boundOf(costs: Costs, name: string) {
  const cost = costs.get(name)
  if (cost === undefined || cost.seen === 0) {
    const dearest = dearestOfAll(costs)
    if (dearest === null)
      return { alone: constants.firstBound, among: constants.firstBound, unseen: true }
    return { alone: 2 * dearest.alone, among: 2 * dearest.among, unseen: true }
  }
  return { ...boundOfSeen(cost), unseen: false }
}

/** Returns the highest bounds of all classes, or null if no cost is known. */
export function dearestOfAll(costs: Costs) {
  const seen = [...costs.values()].filter((cost) => cost.seen > 0)
  if (seen.length === 0) return null
  const bounds = seen.map((cost) => {
    const { alone, among } = boundOfSeen(cost)
    // The margin for a class with few known costs does not apply to other classes.
    return { alone, among: cost.seen < constants.trustedAfter ? alone : among }
  })
  return {
    alone: Math.max(...bounds.map(({ alone }) => alone)),
    among: Math.max(...bounds.map(({ among }) => among)),
  }
}

function boundOfSeen(cost: Cost) {
  if (cost.seen < constants.trustedAfter) {
    // Later calls may cost credits even if the first calls were free, so at least one credit is reserved.
    const alone = Math.max(1, cost.dearest)
    return { alone, among: Math.max(constants.firstBound, constants.youngFactor * alone) }
  }
  const { first, second } = higher(cost.recent, cost.earlier)
  const odd = first >= constants.oddFactor * Math.max(1, second)
  return { alone: Math.max(1, odd ? second : first), among: Math.max(1, first) }
}

interface ClassCost {
  readonly class: string
  readonly dearest: number
  /** Average cost of the newest calls in this class, or null if there were no recent calls. */
  readonly average: number | null
}

export interface Funds {
  /** Credits left after the calls in flight, or null if no balance was ever reported. */
  readonly remaining: number | null
  readonly observedAt: Date | null
  /** Floor in force, or null if no worker is alive. */
  readonly floor: number | null
  readonly costs: readonly ClassCost[]
}

const newest = 2000

/** Reads the balance and the costs. An unused account has neither a balance nor costs. */
export async function readFunds(
  db: Database,
  account: { readonly name: string; readonly kind: Origin },
): Promise<Funds> {
  const found = await sql<Omit<Funds, 'costs'> & { id: number }>`
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
  const { id, ...funds } = row
  return { ...funds, costs: await readRows<ClassCost>(db, 'class_costs', { account: id, newest }) }
}

/** The open tasks of a run, by price class. */
export interface OpenWork {
  readonly run: number
  readonly list: string
  /** Month of the run date, such as 2026-11. */
  readonly month: string
  /** Remaining budget in credits; null if there is no budget. */
  readonly left: number | null
  readonly classes: readonly { readonly class: string; readonly tasks: number }[]
}

/** Reads the open tasks of all runs. The most urgent run comes first. */
export async function readOpenWork(db: Database): Promise<readonly OpenWork[]> {
  const rows = await db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .innerJoin('tasks', 'tasks.run_id', 'runs.id')
    .innerJoin('queries', 'queries.id', 'tasks.query_id')
    .where('tasks.state', '=', 'open')
    .where('runs.state', 'in', ['planning', 'open'])
    // The cost of a call in flight is already reserved.
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('calls')
            .whereRef('calls.task_id', '=', 'tasks.id')
            .where('calls.outcome', 'is', null),
        ),
      ),
    )
    .groupBy(['runs.id', 'lists.name', 'queries.num', 'queries.device'])
    .orderBy(({ fn }) => fn.min('tasks.priority'))
    .orderBy('runs.id')
    .select((eb) => [
      'runs.id as run',
      'lists.name as list',
      eb.fn<string>('to_char', ['runs.run_date', eb.val('YYYY-MM')]).as('month'),
      ...(['runs.budget', 'runs.budget_used', 'queries.num', 'queries.device'] as const),
      eb.fn.countAll<number>().as('tasks'),
    ])
    .execute()
  const runs = new Map<number, OpenWork>()
  for (const { run, list, month, budget, budget_used: used, tasks, ...query } of rows) {
    const left = budget === null ? null : Math.max(0, budget - used)
    const classes = [...(runs.get(run)?.classes ?? []), { class: costClass(query), tasks }]
    runs.set(run, { run, list, month, left, classes })
  }
  return [...runs.values()]
}
