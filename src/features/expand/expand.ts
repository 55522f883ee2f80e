// Expands a list in rounds, within a budget: adds related searches from the answers to the list's queries.
import { npmRun } from '../../base/cli/commands.ts'
import { typed } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { statement } from '../../base/database/sql-file.ts'
import { Misuse, unhandled } from '../../base/errors.ts'
import { priorities, type Query } from '../../base/query.ts'
import { dayMs, localDate } from '../../base/time/zone.ts'
import { knownList } from '../../core/enqueue/order.ts'
import { openCost, planList, queueRun } from '../../core/enqueue/planning.ts'
import { estimateCost, forecastBalance } from '../../core/enqueue/summary.ts'
import { costClass } from '../../core/ledger/account.ts'
import { type Funds, readFunds } from '../../core/ledger/prices.ts'
import { readReading } from '../../core/lists/options.ts'
import type { Mill } from '../../core/mill.ts'
import { expectList } from '../../core/runs/run.ts'
import { choose, type Chosen, scriptsOf, type TextFilter } from './choose.ts'
import {
  expandedFrom,
  type Frontier,
  lowerBudget,
  rankFrontier,
  readFrontier,
  readHeld,
  readOpenRuns,
  readRounds,
  readUsed,
  recordRun,
  type Round,
  takeExpansions,
  TakenElsewhere,
} from './statements.ts'

export interface ExpandOrder {
  readonly list: string
  readonly into: string
  /** Maximum number of credits for all rounds together. */
  readonly credits: number
  readonly depth: number
  readonly wanted: TextFilter
}

/** With `preview`, only shows the queries that would be added, and changes nothing. */
export interface ExpandPrompts {
  readonly preview: boolean
  readonly show: (found: Takeable) => void
}

/** Queries that can be added, and the number of unselected candidates for each reason. */
export interface Takeable extends Chosen, Frontier {
  /** Earliest round from which related searches were taken; 0 is the list itself. */
  readonly from: number
  readonly preview: Awaited<ReturnType<typeof preview>>
}

export interface ExpandOutcome {
  readonly kind: 'queued' | 'previewed' | 'waiting' | 'spent' | 'exhausted'
  readonly round: number
  readonly run: number | null
  readonly state: ExpansionState
  /** Selected related searches; null if none was selected. */
  readonly found: Takeable | null
  /** Number of previously added queries that are planned again. */
  readonly again: number
  /** New budget of an open run whose old budget exceeded the remaining credits; null if the budget is unchanged. */
  readonly lowered: number | null
}

/** Performs the next step: waits for workers, plans unplanned queries, or adds the most promising related searches. */
export async function expand(desk: ExpandDesk, order: ExpandOrder, prompts: ExpandPrompts) {
  // The retry limit is never reached in practice, because another process has made progress at each retry.
  for (let tries = 0; tries < 20; tries += 1) {
    const state = await readState(desk, order)
    const outcome = await doStep({ desk, order, prompts, state })
    if (outcome !== null) return outcome
  }
  throw new Misuse(
    `each attempt was blocked by another expand command for ${order.list}; run the same command again`,
  )
}

interface Expansion {
  readonly desk: ExpandDesk
  readonly order: ExpandOrder
  readonly prompts: ExpandPrompts
  readonly state: ExpansionState
}

/** Performs a step. Returns null if another process changed the state first. */
async function doStep(expansion: Expansion): Promise<ExpandOutcome | null> {
  const { desk, order, prompts, state } = expansion
  const { rounds, openRuns, left } = state
  const step = nextRound({
    ...{ rounds, left, depth: order.depth, busy: openRuns.length > 0 },
    price: leastPrice(state.funds),
  })
  const round = rounds.at(-1)?.round ?? 0
  const nothing = { state, round, run: null, found: null, again: 0, lowered: null }
  switch (step.kind) {
    case 'spent':
      return { ...nothing, kind: 'spent' }
    case 'wait': {
      const waiting = { ...nothing, kind: 'waiting', run: openRuns[0] ?? null } as const
      if (prompts.preview) return waiting
      const lowered = await lowerBudget(desk.db, state, order.credits)
      // After a crash between planning and queueing, the run has no jobs, so it is queued again.
      const queue = await desk.queue()
      for (const run of openRuns) await queueRun(desk, queue, run)
      return { ...waiting, lowered }
    }
    case 'again': {
      const again = step.queries
      if (prompts.preview) return { ...nothing, kind: 'previewed', again }
      const run = await planUnasked(expansion, state.into)
      return run === null ? null : { ...nothing, kind: 'queued', run, again }
    }
    case 'take':
      return take(expansion, step)
    default:
      throw unhandled('step', step)
  }
}

const bands = priorities.last - priorities.usual + 1

async function take(expansion: Expansion, step: TakeStep): Promise<ExpandOutcome | null> {
  const { desk, order, prompts, state } = expansion
  const found = await find(expansion, step)
  const { queries } = found
  const round = Math.max(state.rounds.at(-1)?.round ?? 0, ...queries.map((one) => one.round))
  const outcome = { state, round, run: null, found, again: 0, lowered: null }
  if (found.answered === 0 && step.from === 0) {
    throw new Misuse(
      `expected readable answers to queries in the list ${JSON.stringify(order.list)} from ${desk.supplier.api}, got none; buy them first: ${npmRun('work --')} --drain, or ${npmRun('retry --')} --list ${typed(order.list)}`,
    )
  }
  if (queries.length === 0) return { ...outcome, kind: found.short ? 'spent' : 'exhausted' }
  prompts.show(found)
  if (prompts.preview) return { ...outcome, kind: 'previewed' }
  // Divides the queries into priority bands, so that the least promising queries are bought last.
  const taken = queries.map((query, index) => {
    return { ...query, priority: priorities.usual + Math.floor((index * bands) / queries.length) }
  })
  const into = await takeExpansions(desk.db, { ...state, name: order.into }, taken)
  const run = into === null ? null : await planUnasked(expansion, into)
  return run === null ? null : { ...outcome, kind: 'queued', run }
}

async function find({ desk, order, state }: Expansion, step: TakeStep): Promise<Takeable> {
  const { list, into, origin, funds } = state
  const { from, until, share } = step
  const own = await readHeld(desk.db, list)
  const found = await desk.db.transaction().execute(async (trx) => ({
    ...(await rankFrontier(trx, { list, into, from, until, origin, api: desk.supplier.api })),
    ...(await choose(readFrontier(trx), {
      wanted: order.wanted,
      there: [...own, ...(await readHeld(trx, into))],
      scripts: scriptsOf(own.map(({ q }) => q)),
      price: expectedPrice(funds),
      credits: share,
    })),
  }))
  return { ...found, from, preview: await preview(desk, state, found.queries) }
}

type TakeStep = Extract<ReturnType<typeof nextRound>, { kind: 'take' }>

export interface RoundsState {
  readonly rounds: readonly Round[]
  /** True while the target list has an open run. */
  readonly busy: boolean
  readonly depth: number
  readonly left: number
  /** Highest observed price of the cheapest price class. */
  readonly price: number
}

/**
 * Decides the next step. A round starts when the previous round is done. Credits are divided evenly among the remaining
 * rounds. Credits that are left after the last round are spent on the most promising queries from all rounds.
 */
export function nextRound({ rounds, busy, depth, left, price }: RoundsState) {
  const newest = rounds.at(-1)
  const done = newest?.round ?? 0
  // Workers have not yet bought answers to all added queries.
  if (busy || rounds.some(({ open }) => open > 0)) return { kind: 'wait', round: done } as const
  if (left < price) return { kind: 'spent' } as const
  // If planning was interrupted or credits ran out, the added queries that were not bought are planned first.
  const queries = rounds.reduce((sum, { unplanned, unasked }) => sum + unplanned + unasked, 0)
  if (queries > 0) return { kind: 'again', round: done, queries } as const
  if (done >= depth) return { kind: 'take', from: 0, until: depth - 1, share: left } as const
  const share = Math.max(Math.floor(left / (depth - done)), Math.min(price, left))
  return { kind: 'take', from: done, until: done, share } as const
}

type ExpandDesk = Pick<Mill, 'config' | 'db' | 'supplier' | 'queue'>

/** Estimates the cost of the given queries, and the balance after these queries and all open tasks are paid. */
async function preview(
  desk: ExpandDesk,
  { funds, left }: ExpansionState,
  queries: readonly Query[],
) {
  const toBuy = queries.map(({ num, device }) => ({ num, device, tasks: 1 }))
  const full = estimateCost(toBuy, funds.costs, costClass)
  // An expansion never costs more than its budget, so the estimate is limited to the budget.
  const most = (found: number | null) => (found === null ? null : Math.min(found, left))
  const estimate = { ...full, credits: most(full.credits), worst: most(full.worst) }
  const { remaining } = funds
  const floor = Math.max(desk.config.creditFloor, funds.floor ?? 0)
  const open = await openCost(desk, funds)
  const balance = forecastBalance(estimate, { remaining, floor, budget: left, open })
  return { queries: queries.length, estimate, balance }
}

/** Plans a run of added queries that have no run yet; returns null if another process is planning the same queries. */
async function planUnasked({ desk, order, state }: Expansion, into: number) {
  const { db, config } = desk
  const expanding = { into, origin: state.origin }
  await db.executeQuery(statement('ready_unasked_expansions', expanding))
  try {
    const { run } = await planList(desk, {
      list: order.into,
      from: { kind: 'members', list: into },
      reading: readReading({}),
      kind: 'manual',
      runDate: localDate(config.zone, new Date()),
      budget: state.left,
      // An expansion reuses existing answers, however old they are, and never buys an answer again.
      maxAgeMs: 36_500 * dayMs,
      into: null,
      record: (trx, planned) => recordRun(trx, planned, expanding),
    })
    await queueRun({ db }, await desk.queue(), run)
    return run
  } catch (error) {
    if (error instanceof TakenElsewhere) return null
    throw error
  }
}

type ExpansionState = Awaited<ReturnType<typeof readState>>

async function readState({ db, supplier }: Pick<Mill, 'db' | 'supplier'>, order: ExpandOrder) {
  const { origin } = supplier
  const lists = { ...(await findLists(db, order)), origin }
  const used = await readUsed(db, lists)
  return {
    ...lists,
    rounds: await readRounds(db, lists),
    openRuns: await readOpenRuns(db, lists.into),
    used,
    left: Math.max(0, order.credits - used),
    funds: await readFunds(db, { name: supplier.account, kind: origin }),
  }
}

/** Finds the ids of both lists. The id is 0 if the target list does not exist yet. Rejects unsuitable lists. */
async function findLists(db: Database, order: ExpandOrder) {
  await expectList(db, order.list)
  const list = (await knownList(db, order.list))?.id
  if (list === undefined)
    throw new Misuse(
      `the list ${JSON.stringify(order.list)} does not exist; ${npmRun('status')} shows the lists`,
    )
  const from = await expandedFrom(db, list)
  if (from !== null) {
    throw new Misuse(
      `expected --list to name a list of your own, got ${JSON.stringify(order.list)}, which contains related searches of ${JSON.stringify(from)}; to continue from these searches, expand ${JSON.stringify(from)} with a larger --depth`,
    )
  }
  const { id: into, source } = (await knownList(db, order.into)) ?? { id: 0, source: '' }
  if (source === '') return { list, into }
  throw new Misuse(
    `the list name ${JSON.stringify(order.into)} is already used for the list read from ${source}; choose another name with --as`,
  )
}

/** Returns a function that estimates a price of at least one credit, so that the budget is eventually used up. */
function expectedPrice({ costs }: Funds): (query: Query) => number {
  const known = new Map(costs.map((cost) => [cost.class, cost]))
  return (query) => {
    const cost = known.get(costClass(query))
    return Math.max(1, cost?.average ?? cost?.dearest ?? 1)
  }
}

/** Returns the highest observed price of the cheapest price class. With fewer credits, no query can be bought. */
function leastPrice({ costs }: Funds): number {
  return costs.length === 0 ? 1 : Math.max(1, Math.min(...costs.map(({ dearest }) => dearest)))
}
