import { Misuse, unhandled } from '../../shared/errors.ts'
import { priorities, type Query } from '../../shared/query.ts'
import { typed } from '../../shared/terminal/wording.ts'
import { readHeld } from '../../store/planning/expansions.ts'
import { lowerBudget, takeExpansions } from '../../store/planning/taking.ts'
import {
  rankFrontier,
  readFrontier,
  type RelatedQuery,
  type Frontier,
} from '../../store/planning/frontier.ts'
import type { AskPerson } from '../enqueue/agree.ts'
import { queueRun } from '../enqueue/planning.ts'
import { choose, type Chosen } from './choose.ts'
import type { ExpandOrder } from './intake.ts'
import { agreed, planUnasked, preview, type ExpandDesk, type Preview } from './purchase.ts'
import { nextRound, type ExpandStep } from './rounds.ts'
import { scriptsOfAll } from './scripts.ts'
import { expectedPrice, leastPrice, readStand, type ExpansionStand } from './standing.ts'

/** How an expansion speaks with whoever started it. */
export interface ExpandTalk {
  readonly dryRun: boolean
  readonly yes: boolean
  /** Shows what would be taken, before anybody is asked. */
  readonly show: (found: Takeable) => void
  readonly ask: AskPerson
}

/** What is to be taken, and what was left. */
export interface Takeable extends Chosen, Frontier {
  /** The earliest round whose answers name it; 0 is the list itself. */
  readonly from: number
  readonly preview: Preview
}

/** What came of it. */
export interface ExpandOutcome {
  readonly kind: 'queued' | 'previewed' | 'refused' | 'waiting' | 'spent' | 'exhausted'
  readonly round: number
  readonly run: number | null
  readonly stand: ExpansionStand
  /** Null where nothing new was chosen. */
  readonly found: Takeable | null
  /** Queries of a run that was planned anew, without anything having been taken. */
  readonly again: number
  /** The new budget of an open run that had more than the typed credits leave it; null: it keeps its own. */
  readonly lowered: number | null
}

// Each time somebody else was first, something was done: more often than this nobody can be.
const mostTries = 20

/** Does the next thing: waits for workers, plans what is unasked, or takes the most promising related searches. */
export async function expand(
  desk: ExpandDesk,
  order: ExpandOrder,
  talk: ExpandTalk,
): Promise<ExpandOutcome> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const stand = await readStand(desk, order)
    const step = nextRound({
      rounds: stand.rounds,
      busy: stand.openRuns.length > 0,
      depth: order.depth,
      left: stand.left,
      price: leastPrice(stand.funds),
    })
    const outcome = await doStep(desk, order, { stand, step, talk })
    if (outcome !== null) return outcome
  }
  throw new Misuse(
    `expected nobody else to expand ${order.list}, got another one at each try; type the same again`,
  )
}

interface Doing {
  readonly stand: ExpansionStand
  readonly step: ExpandStep
  readonly talk: ExpandTalk
}

/** Null: somebody else was first, and it stands differently now. */
async function doStep(
  desk: ExpandDesk,
  order: ExpandOrder,
  doing: Doing,
): Promise<ExpandOutcome | null> {
  const { stand, step, talk } = doing
  const done = stand.rounds.at(-1)?.round ?? 0
  const nothing = { stand, round: done, run: null, found: null, again: 0, lowered: null }
  switch (step.kind) {
    case 'spent':
      return { ...nothing, kind: 'spent' }
    case 'wait': {
      const waiting = { ...nothing, kind: 'waiting', run: stand.openRuns[0] ?? null } as const
      if (talk.dryRun || stand.into === null) return waiting
      const expanding = { into: stand.into, origin: desk.supplier.origin }
      const lowered = await lowerBudget(desk.db, expanding, order.credits)
      // A crash between planning and queueing leaves a run that no worker was told of.
      await queueAgain(desk, stand)
      return { ...waiting, lowered }
    }
    case 'again': {
      const again = step.queries
      if (talk.dryRun || stand.into === null) return { ...nothing, kind: 'previewed', again }
      const run = await plan(desk, order, { stand, into: stand.into })
      return run === null ? null : { ...nothing, kind: 'queued', run, again }
    }
    case 'take':
      return take(desk, order, { stand, step, talk })
    default:
      throw unhandled('step', step)
  }
}

async function queueAgain(desk: ExpandDesk, { openRuns }: ExpansionStand): Promise<void> {
  const queue = await desk.queue()
  for (const run of openRuns) await queueRun(desk, queue, run)
}

async function take(
  desk: ExpandDesk,
  order: ExpandOrder,
  { stand, step, talk }: Doing & { step: Extract<ExpandStep, { kind: 'take' }> },
): Promise<ExpandOutcome | null> {
  const found = await find(desk, order, { stand, step, talk })
  const round = Math.max(stand.rounds.at(-1)?.round ?? 0, ...found.queries.map((one) => one.round))
  const outcome = { stand, round, run: null, found, again: 0, lowered: null }
  if (found.answered === 0 && step.from === 0) throw noAnswers(desk, order)
  if (found.queries.length === 0) return { ...outcome, kind: found.short ? 'spent' : 'exhausted' }
  talk.show(found)
  if (talk.dryRun) return { ...outcome, kind: 'previewed' }
  if (!(await agreed(desk.supplier, found.preview, talk))) return { ...outcome, kind: 'refused' }
  const into = await takeExpansions(desk.db, {
    name: order.into,
    source: stand.list,
    origin: desk.supplier.origin,
    queries: inBands(found.queries),
    before: stand.rounds.reduce((sum, { queries }) => sum + queries, 0),
  })
  if (into === null) return null
  const run = await plan(desk, order, { stand, into })
  return run === null ? null : { ...outcome, kind: 'queued', run }
}

async function plan(
  desk: ExpandDesk,
  order: ExpandOrder,
  { stand, into }: { stand: ExpansionStand; into: number },
): Promise<number | null> {
  const expanding = { into, origin: desk.supplier.origin }
  return planUnasked(desk, order, { expanding, budget: stand.left })
}

async function find(
  desk: ExpandDesk,
  order: ExpandOrder,
  { stand, step }: Doing & { step: Extract<ExpandStep, { kind: 'take' }> },
): Promise<Takeable> {
  const { list, into, funds } = stand
  const { origin, api } = desk.supplier
  const own = await readHeld(desk.db, [list])
  const there = into === null ? own : [...own, ...(await readHeld(desk.db, [into]))]
  const sources = { list, into, from: step.from, until: step.until, origin, api }
  const { frontier, chosen } = await desk.db.transaction().execute(async (trx) => ({
    frontier: await rankFrontier(trx, sources),
    chosen: await choose(readFrontier(trx), {
      wanted: order.wanted,
      there,
      scripts: scriptsOfAll(texts(own)),
      price: expectedPrice(funds),
      credits: step.share,
    }),
  }))
  const { from } = step
  return { ...frontier, ...chosen, from, preview: await preview(desk, stand, chosen.queries) }
}

function* texts(queries: readonly Query[]): Generator<string> {
  for (const { q } of queries) yield q
}

const bands = priorities.last - priorities.usual + 1

/** The most promising fifth is bought first, so that what a stop leaves over is worth least. */
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
    `expected readable answers to queries of the list ${JSON.stringify(list)} from ${supplier.api}, got none; buy them first: npm run work -- --drain, or npm run retry -- --list ${typed(list)}`,
  )
}
