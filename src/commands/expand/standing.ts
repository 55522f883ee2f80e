import { Misuse } from '../../shared/errors.ts'
import type { Query } from '../../shared/query.ts'
import { costClass } from '../../credits/account.ts'
import {
  expandedFrom,
  readOpenRuns,
  readRounds,
  readUsed,
  type Round,
} from '../../store/planning/expansions.ts'
import { knownList } from '../../store/planning/lists.ts'
import { readFunds, type Funds } from '../../store/planning/prices.ts'
import { expectList } from '../../store/operator/known.ts'
import type { Mill } from '../mill/mill.ts'
import type { ExpandOrder } from './intake.ts'

/** How an expansion stands. */
export interface ExpansionStand {
  /** The list that is expanded. */
  readonly list: number
  /** The list that takes; null: nothing was taken yet. */
  readonly into: number | null
  readonly rounds: readonly Round[]
  /** Runs of the list that takes which are not done. */
  readonly openRuns: readonly number[]
  readonly used: number
  readonly left: number
  readonly funds: Funds
}

type Source = Pick<Mill, 'db' | 'supplier'>

/** Reads everything that decides what is to be done next. */
export async function readStand(
  { db, supplier }: Source,
  order: ExpandOrder,
): Promise<ExpansionStand> {
  const { list, into } = await findLists({ db }, order)
  const funds = await readFunds(db, { name: supplier.account, kind: supplier.origin })
  if (into === null) {
    return { list, into, rounds: [], openRuns: [], used: 0, left: order.credits, funds }
  }
  const expanding = { into, origin: supplier.origin }
  const used = await readUsed(db, expanding)
  return {
    list,
    into,
    rounds: await readRounds(db, expanding),
    openRuns: await readOpenRuns(db, into),
    used,
    left: Math.max(0, order.credits - used),
    funds,
  }
}

/** The list that is expanded and the one that takes; neither may be something else than that. */
async function findLists(
  { db }: Pick<Source, 'db'>,
  order: ExpandOrder,
): Promise<{ list: number; into: number | null }> {
  await expectList(db, order.list)
  const list = (await knownList(db, order.list))?.id
  if (list === undefined) throw new Misuse(`expected the list ${order.list} to stay, got none`)
  const from = await expandedFrom(db, list)
  if (from !== null) {
    throw new Misuse(
      `expected --list to name a list of your own, got ${JSON.stringify(order.list)}, which took related searches of ${JSON.stringify(from)}; to go on from these, expand ${JSON.stringify(from)} with a greater --depth`,
    )
  }
  const into = await knownList(db, order.into)
  if (into === undefined || into.source === '') return { list, into: into?.id ?? null }
  throw new Misuse(
    `expected the name ${JSON.stringify(order.into)} to be free for what is taken, got the list of ${into.source}; type --as with another name`,
  )
}

/** What a query is expected to cost: never less than a credit, so that credits always end. */
export function expectedPrice({ costs }: Funds): (query: Query) => number {
  const known = new Map(costs.map((cost) => [cost.class, cost]))
  return (query) => {
    const cost = known.get(costClass(query))
    return Math.max(1, cost?.average ?? cost?.dearest ?? 1)
  }
}

/** What the cheapest kind of query costs at the worst: with less than that nothing is to be bought. */
export function leastPrice({ costs }: Funds): number {
  return costs.length === 0 ? 1 : Math.max(1, Math.min(...costs.map(({ dearest }) => dearest)))
}
