// Expands a list: adds the related searches in the answers to its queries, round by round, within a budget.
import { npmRun } from '../../base/cli/commands.ts'
import { typed } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
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
import { choose, type Chosen, scriptsOfAll, type TextFilter } from './choose.ts'
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
  readyUnasked,
  recordRun,
  type RelatedQuery,
  type Round,
  takeExpansions,
  TakenElsewhere,
} from './statements.ts'

/** Validated settings of an expansion. */
export interface ExpandOrder {
  readonly list: string
  /** Name of the target list. */
  readonly into: string
  /** Maximum credits for all rounds together. */
  readonly credits: number
  readonly depth: number
  readonly wanted: TextFilter
}

/** Callbacks for user interaction. */
export interface ExpandPrompts {
  /** If true, shows the queries that would be added, and changes nothing. */
  readonly preview: boolean
  /** Shows the queries that are added or would be added. */
  readonly show: (found: Takeable) => void
}

/** Queries that can be added, and the number of candidates that were not selected, by reason. */
export interface Takeable extends Chosen, Frontier {
  /** Earliest round whose answers were searched for related searches; 0 is the list itself. */
  readonly from: number
  readonly preview: Awaited<ReturnType<typeof preview>>
}

/** Result of an expansion. */
export interface ExpandOutcome {
  readonly kind: 'queued' | 'previewed' | 'waiting' | 'spent' | 'exhausted'
  readonly round: number
  readonly run: number | null
  readonly state: ExpansionState
  /** Selected related searches; null if none was selected. */
  readonly found: Takeable | null
  /** Number of queries that were added earlier and are planned again, in a run without new queries. */
  readonly again: number
  /**
   * New budget of an open run whose old budget was higher than the remaining credits; null if the budget is unchanged.
   */
  readonly lowered: number | null
}

// Maximum number of retries. Each retry means that another process made progress, so this many retries are never
// needed.
const mostTries = 20

/** Performs the next step: waits for workers, plans unplanned queries, or adds the most promising related searches. */
export async function expand(
  desk: ExpandDesk,
  order: ExpandOrder,
  prompts: ExpandPrompts,
): Promise<ExpandOutcome> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const state = await readState(desk, order)
    const step = nextRound({
      rounds: state.rounds,
      busy: state.openRuns.length > 0,
      depth: order.depth,
      left: state.left,
      price: leastPrice(state.funds),
    })
    const outcome = await doStep(desk, order, { state, step, prompts })
    if (outcome !== null) return outcome
  }
  throw new Misuse(
    `expected no other expand of ${order.list}, got one at each attempt; run the same command again`,
  )
}

interface Expansion<Step = ExpandStep> {
  readonly state: ExpansionState
  readonly step: Step
  readonly prompts: ExpandPrompts
}

/** Performs a step. Returns null if another process changed the state before. */
async function doStep(
  desk: ExpandDesk,
  order: ExpandOrder,
  doing: Expansion,
): Promise<ExpandOutcome | null> {
  const { state, step, prompts } = doing
  const done = state.rounds.at(-1)?.round ?? 0
  const nothing = { state, round: done, run: null, found: null, again: 0, lowered: null }
  switch (step.kind) {
    case 'spent':
      return { ...nothing, kind: 'spent' }
    case 'wait': {
      const waiting = { ...nothing, kind: 'waiting', run: state.openRuns[0] ?? null } as const
      if (prompts.preview || state.into === null) return waiting
      const expanding = { into: state.into, origin: desk.supplier.origin }
      const lowered = await lowerBudget(desk.db, expanding, order.credits)
      // After a crash between planning and queueing, no worker knows about the run, so the run is queued again.
      const queue = await desk.queue()
      for (const run of state.openRuns) await queueRun(desk, queue, run)
      return { ...waiting, lowered }
    }
    case 'again': {
      const again = step.queries
      if (prompts.preview || state.into === null) return { ...nothing, kind: 'previewed', again }
      const run = await planUnasked(desk, order, { into: state.into, budget: state.left })
      return run === null ? null : { ...nothing, kind: 'queued', run, again }
    }
    case 'take':
      return take(desk, order, { state, step, prompts })
    default:
      throw unhandled('step', step)
  }
}

async function take(
  desk: ExpandDesk,
  order: ExpandOrder,
  { state, step, prompts }: Expansion<TakeStep>,
): Promise<ExpandOutcome | null> {
  const found = await find(desk, order, { state, step })
  const round = Math.max(state.rounds.at(-1)?.round ?? 0, ...found.queries.map((one) => one.round))
  const outcome = { state, round, run: null, found, again: 0, lowered: null }
  if (found.answered === 0 && step.from === 0) throw noAnswers(desk, order)
  if (found.queries.length === 0) return { ...outcome, kind: found.short ? 'spent' : 'exhausted' }
  prompts.show(found)
  if (prompts.preview) return { ...outcome, kind: 'previewed' }
  const into = await takeExpansions(desk.db, {
    name: order.into,
    source: state.list,
    origin: desk.supplier.origin,
    queries: inBands(found.queries),
    before: state.rounds.reduce((sum, { queries }) => sum + queries, 0),
  })
  if (into === null) return null
  const run = await planUnasked(desk, order, { into, budget: state.left })
  return run === null ? null : { ...outcome, kind: 'queued', run }
}

async function find(
  desk: ExpandDesk,
  order: ExpandOrder,
  { state, step }: Pick<Expansion<TakeStep>, 'state' | 'step'>,
): Promise<Takeable> {
  const { list, into, funds } = state
  const { origin, api } = desk.supplier
  const own = await readHeld(desk.db, [list])
  const there = into === null ? own : [...own, ...(await readHeld(desk.db, [into]))]
  const sources = { list, into, from: step.from, until: step.until, origin, api }
  const { frontier, chosen } = await desk.db.transaction().execute(async (trx) => ({
    frontier: await rankFrontier(trx, sources),
    chosen: await choose(readFrontier(trx), {
      wanted: order.wanted,
      there,
      scripts: scriptsOfAll(own.map(({ q }) => q)),
      price: expectedPrice(funds),
      credits: step.share,
    }),
  }))
  const { from } = step
  return { ...frontier, ...chosen, from, preview: await preview(desk, state, chosen.queries) }
}

const bands = priorities.last - priorities.usual + 1

/**
 * Divides the queries into five priority bands, most promising first. If purchases stop early, the least promising
 * queries are left.
 */
function inBands(
  queries: readonly RelatedQuery[],
): (RelatedQuery & { readonly priority: number })[] {
  return queries.map((query, index) => ({
    ...query,
    priority: priorities.usual + Math.floor((index * bands) / queries.length),
  }))
}

function noAnswers({ supplier }: ExpandDesk, { list }: ExpandOrder): Misuse {
  return new Misuse(
    `expected readable answers to queries of the list ${JSON.stringify(list)} from ${supplier.api}, got none; buy them first: ${npmRun('work --')} --drain, or ${npmRun('retry --')} --list ${typed(list)}`,
  )
}

/** Next step of an expansion. */
type ExpandStep =
  /** Workers have not answered all added queries yet. */
  | { readonly kind: 'wait'; readonly round: number }
  /**
   * Queries were added earlier but never bought, because planning was interrupted or credits ran out. They are planned
   * before new queries are added.
   */
  | { readonly kind: 'again'; readonly round: number; readonly queries: number }
  | TakeStep
  /** The credits are used up. */
  | { readonly kind: 'spent' }

/** Credits are left, and the answers of the rounds `from` to `until` may contain more related searches. */
interface TakeStep {
  readonly kind: 'take'
  readonly from: number
  readonly until: number
  readonly share: number
}

/** Rounds of an expansion up to now, and the remaining credits. */
export interface RoundsState {
  readonly rounds: readonly Round[]
  /** True while a run of the list is open. */
  readonly busy: boolean
  readonly depth: number
  /** Credits that are left of the typed budget. */
  readonly left: number
  /** Highest observed price of the cheapest price class. */
  readonly price: number
}

/**
 * Decides the next step. A round starts when the previous round is done. Credits are divided evenly among the remaining
 * rounds. Credits that are left after the last round are spent on the most promising queries from all rounds.
 */
export function nextRound({ rounds, busy, depth, left, price }: RoundsState): ExpandStep {
  const newest = rounds.at(-1)
  const done = newest?.round ?? 0
  if (busy || rounds.some(({ open }) => open > 0)) return { kind: 'wait', round: done }
  if (left < price) return { kind: 'spent' }
  const queries = rounds.reduce((sum, { unplanned, unasked }) => sum + unplanned + unasked, 0)
  if (queries > 0) return { kind: 'again', round: done, queries }
  if (done >= depth) return { kind: 'take', from: 0, until: depth - 1, share: left }
  const share = Math.max(Math.floor(left / (depth - done)), Math.min(price, left))
  return { kind: 'take', from: done, until: done, share }
}

/** Dependencies of an expansion. */
type ExpandDesk = Pick<Mill, 'config' | 'db' | 'supplier' | 'queue'>

/** Estimates the cost of the given queries, and the balance after these queries and all open tasks. */
async function preview(
  desk: ExpandDesk,
  { funds, left }: ExpansionState,
  queries: readonly Query[],
) {
  const toBuy = queries.map(({ num, device }) => ({ num, device, tasks: 1 }))
  const full = estimateCost(toBuy, funds.costs, costClass)
  // An expansion never exceeds its budget, so the estimate must not either.
  const most = (found: number | null) => (found === null ? null : Math.min(found, left))
  const estimate = { ...full, credits: most(full.credits), worst: most(full.worst) }
  const { remaining } = funds
  const floor = Math.max(desk.config.creditFloor, funds.floor ?? 0)
  const open = await openCost(desk, funds)
  const balance = forecastBalance(estimate, { remaining, floor, budget: left, open })
  return { queries: queries.length, estimate, balance }
}

/** Plans a run of added queries that have no run yet; returns null if another process is planning the same queries. */
async function planUnasked(
  desk: ExpandDesk,
  order: ExpandOrder,
  { into, budget }: { into: number; budget: number },
): Promise<number | null> {
  const { db, config } = desk
  const expanding = { into, origin: desk.supplier.origin }
  await readyUnasked(db, expanding)
  try {
    const { run } = await planList(desk, {
      list: order.into,
      from: { kind: 'members', list: into },
      reading: readReading({}),
      kind: 'manual',
      runDate: localDate(config.zone, new Date()),
      budget,
      maxAgeMs: mostAgeMs,
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

/**
 * Maximum age of a reused answer, practically unlimited. An expansion reuses existing answers, however old they are,
 * and never buys an answer again.
 */
const mostAgeMs = 36_500 * dayMs

/** State of an expansion: the rounds up to now, and the credits that are left. */
type ExpansionState = Awaited<ReturnType<typeof readState>>

/** Reads everything needed to decide the next step. */
async function readState({ db, supplier }: Pick<Mill, 'db' | 'supplier'>, order: ExpandOrder) {
  const { list, into } = await findLists(db, order)
  const expanding = into === null ? null : { into, origin: supplier.origin }
  const used = expanding === null ? 0 : await readUsed(db, expanding)
  return {
    list,
    /** Id of the target list; null if the list does not exist yet. */
    into,
    rounds: expanding === null ? [] : await readRounds(db, expanding),
    /** Unfinished runs of the target list. */
    openRuns: into === null ? [] : await readOpenRuns(db, into),
    used,
    left: Math.max(0, order.credits - used),
    funds: await readFunds(db, { name: supplier.account, kind: supplier.origin }),
  }
}

/** Finds the source list and the target list. Rejects a list that is used for something else. */
async function findLists(
  db: Database,
  order: ExpandOrder,
): Promise<{ list: number; into: number | null }> {
  await expectList(db, order.list)
  const list = (await knownList(db, order.list))?.id
  if (list === undefined)
    throw new Misuse(`expected the list ${order.list} to still exist, got none`)
  const from = await expandedFrom(db, list)
  if (from !== null) {
    throw new Misuse(
      `expected --list to name a list of your own, got ${JSON.stringify(order.list)}, which holds related searches of ${JSON.stringify(from)}; to continue from these, expand ${JSON.stringify(from)} with a greater --depth`,
    )
  }
  const into = await knownList(db, order.into)
  if (into === undefined || into.source === '') return { list, into: into?.id ?? null }
  throw new Misuse(
    `expected ${JSON.stringify(order.into)} to be an unused name for the new list, got the name of the list of ${into.source}; use --as with another name`,
  )
}

/**
 * Returns a function that estimates the price of a query. The price is at least one credit, so that the budget is used
 * up eventually.
 */
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
