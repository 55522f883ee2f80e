import { costClass } from '../../credits/account.ts'
import type { Heading } from '../../lists/read.ts'
import { estimateCost, type Estimate } from './estimate.ts'
import { refill, type SliceSink } from '../../queue/refill.ts'
import { stageList, type Desk, type ListOrder, type Staged } from './staging.ts'
import { readFunds, type Funds } from '../../store/planning/prices.ts'
import type { Planned } from '../../store/planning/order.ts'
import { planStaged } from '../../store/planning/plan.ts'
import { onConnections } from '../../store/planning/stage.ts'
import type { Connections } from '../../store/planning/staged-tables.ts'

/** What became of one list. */
export interface ListPlan extends Planned {
  readonly list: string
  /** Null for a list that was planned from the tables. */
  readonly heading: Heading | null
  readonly headersAgain: readonly number[]
  readonly estimate: Estimate
}

export interface Plans {
  readonly lists: readonly ListPlan[]
  readonly purse: Funds
  /** False after a preview that nobody agreed to: nothing was written. */
  readonly committed: boolean
}

/** Reads lists and plans a run of each, all of them or none being readable. */
export async function planLists(
  desk: Desk,
  orders: readonly ListOrder[],
  agree: 'always' | 'never' | ((preview: Plans) => Promise<boolean>),
): Promise<Plans> {
  const purse = await readFunds(desk.db, { name: desk.market.account, kind: desk.market.origin })
  return onConnections(desk.db, async (connections) => {
    const staged: Staged[] = []
    for (const [index, order] of orders.entries()) {
      staged.push(await stageList(connections, index, { desk, order }))
    }
    const planAll = async (keep: boolean): Promise<Plans> => {
      const lists: ListPlan[] = []
      for (const list of staged)
        lists.push(await planStage(connections, list, { desk, purse, keep }))
      return { lists, purse, committed: keep }
    }
    const result = agree === 'always' ? await planAll(true) : await previewFirst(planAll, agree)
    for (const { stage } of staged) await stage.drop()
    return result
  })
}

async function previewFirst(
  planAll: (keep: boolean) => Promise<Plans>,
  agree: 'never' | ((preview: Plans) => Promise<boolean>),
): Promise<Plans> {
  const preview = await planAll(false)
  if (agree === 'never' || !(await agree(preview))) return preview
  return planAll(true)
}

/** Reads one list and plans its run. */
export async function planList(desk: Desk, order: ListOrder): Promise<ListPlan> {
  const { lists } = await planLists(desk, [order], 'always')
  const [list] = lists
  if (list === undefined) throw new Error('expected a plan, got none')
  return list
}

async function planStage(
  connections: Connections,
  { stage, order, record, heading, headersAgain, lines }: Staged,
  { desk, purse, keep }: { desk: Desk; purse: Funds; keep: boolean },
): Promise<ListPlan> {
  desk.progress?.({ kind: 'planning', list: order.list, lines })
  const planned = await planStaged(connections, { stage: stage.number, order, keep, record })
  const estimate = estimateCost(planned.toBuy, purse.costs, costClass)
  return { ...planned, list: order.list, heading, headersAgain, estimate }
}

/** Queues what is left of a run; what the queue still holds stays as it is. */
export function queueRun(
  desk: Pick<Desk, 'db' | 'progress'>,
  queue: SliceSink,
  run: number,
): Promise<number> {
  const told = (slices: number) => desk.progress?.({ kind: 'queueing', run, slices })
  return refill(queue, { db: desk.db, run, told })
}
