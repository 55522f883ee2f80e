// Plans lists together: reads them, estimates their cost, and creates their runs.

import { costClass } from '../ledger/account.ts'
import { type Funds, readFunds, readOpenWork } from '../ledger/prices.ts'
import type { Heading } from '../lists/read.ts'
import { refill } from '../queue/refill.ts'
import type { SliceQueue } from '../queue/slice-jobs.ts'
import { type Planned, planStaged } from './plan.ts'
import { onConnections } from './stage.ts'
import { type Desk, type ListOrder, type Staged, stageList } from './staging.ts'
import { addEstimates, addUp, type Estimate, estimateCost, type Totals } from './summary.ts'

export type ListPlan = ReturnType<typeof describePlan>

export interface Plans {
  readonly lists: readonly ListPlan[]
  readonly totals: Totals
  /** False if nothing was written, because only a preview was requested or the user did not confirm. */
  readonly committed: boolean
}

/** If one list can't be read, no list is planned. */
export async function planLists(
  desk: Desk,
  { orders, floor, budget }: { orders: readonly ListOrder[]; floor: number; budget: number | null },
  agree: 'always' | 'never' | ((preview: Plans) => Promise<boolean>),
): Promise<Plans> {
  return onStaged(desk, orders, async (planAll, funds) => {
    const open = await openCost(desk, funds)
    const plan = async (committed: boolean): Promise<Plans> => {
      const lists = await planAll(committed)
      return { lists, totals: addUp(lists, { open, funds, floor, budget }), committed }
    }
    if (agree === 'always') return plan(true)
    const preview = await plan(false)
    return agree !== 'never' && (await agree(preview)) ? plan(true) : preview
  })
}

/** Estimates the cost of the open tasks in all runs. A run's cost is limited to its remaining budget. */
export async function openCost({ db }: Desk, { costs }: Funds): Promise<Estimate> {
  const estimates = (await readOpenWork(db)).map(({ classes, left }) => {
    const { credits, worst, basis } = estimateCost(classes, costs, (one) => one.class)
    const most = left ?? Infinity
    if (credits === null || worst === null) return { credits, worst, basis }
    return { credits: Math.min(credits, most), worst: Math.min(worst, most), basis }
  })
  return addEstimates(estimates)
}

export async function planList(desk: Desk, order: ListOrder): Promise<ListPlan> {
  const [list] = await onStaged(desk, [order], (planAll) => planAll(true))
  if (list === undefined) throw new Error('expected a plan, got none')
  return list
}

type PlanAll = (keep: boolean) => Promise<readonly ListPlan[]>

/** Reads lists into temporary tables, so that they can be planned twice: for a preview and for the run. */
async function onStaged<T>(
  desk: Desk,
  orders: readonly ListOrder[],
  use: (planAll: PlanAll, funds: Funds) => Promise<T>,
): Promise<T> {
  const { account: name, origin: kind } = desk.supplier
  const funds = await readFunds(desk.db, { name, kind })
  return onConnections(desk.db, async (connections) => {
    const staged: Staged[] = []
    for (const [index, order] of orders.entries()) {
      staged.push(await stageList(connections, index, { desk, order, funds }))
    }
    const planAll = async (keep: boolean): Promise<readonly ListPlan[]> => {
      const lists: ListPlan[] = []
      for (const list of staged) {
        desk.progress?.(`planning ${list.order.list}: ${list.order.usable} lines`)
        const planned = await planStaged(connections, list, keep)
        lists.push(describePlan(planned, list, funds))
      }
      return lists
    }
    const result = await use(planAll, funds)
    for (const { stage } of staged) await stage.drop()
    return result
  })
}

function describePlan(planned: Planned, { order, read }: Staged, { costs }: Funds) {
  return {
    ...planned,
    ...read,
    list: order.list,
    notices: [...read.notices, ...mergeNotice(planned, read.heading), ...intervalNotice(planned)],
    estimate: estimateCost(planned.toBuy, costs, costClass),
    removedCost: estimateCost(planned.removed.byPrice, costs, costClass),
  }
}

/** Warns about intervals that have no effect, because the last answer may still be reused. */
export function intervalNotice({ unusedIntervals }: Pick<Planned, 'unusedIntervals'>): string[] {
  if (unusedIntervals === 0) return []
  const queries = unusedIntervals === 1 ? '1 query has' : `${unusedIntervals} queries have`
  return [
    `${queries} an "every" interval no longer than "max_age", so each night reuses the last answer; to buy a new answer each time, set "max_age" below "every"`,
  ]
}

/** Warns if most lines are duplicates, because they may be from the wrong column. */
function mergeNotice({ accepted, duplicates }: Planned, heading: Heading | null): string[] {
  if (heading === null || accepted + duplicates < 10 || duplicates <= accepted) return []
  const { header, columns } = heading.dialect
  const name = header[columns.query]?.trim() ?? String(columns.query + 1)
  return [
    `most lines are duplicates: the column ${JSON.stringify(name)} has ${accepted} different queries in ${accepted + duplicates} lines; if another column contains the queries, select it with --column`,
  ]
}

/** Queues the open slices of a run. Existing jobs remain unchanged. */
export function queueRun(
  desk: Pick<Desk, 'db' | 'progress'>,
  queue: Pick<SliceQueue, 'add'>,
  run: number,
): Promise<number> {
  const told = (slices: number) => desk.progress?.(`queueing run ${run}: ${slices} slices`)
  return refill(queue, { db: desk.db, run, onPage: told })
}
