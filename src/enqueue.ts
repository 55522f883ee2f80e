import type { Kysely, Transaction } from 'kysely'
import { costClass } from './credits/account.ts'
import { Misuse } from './errors.ts'
import { openList, type Heading, type ReadOptions } from './lists/read.ts'
import { openFile, openStream } from './lists/source.ts'
import type { Market } from './market.ts'
import { estimateCost, type Estimate } from './plan/forecast.ts'
import type { QueuedSlice } from './queue/slices.ts'
import type { Database } from './store/database.ts'
import { readPurse, type Purse } from './store/forecast.ts'
import { onConnection, openStage, type Stage } from './store/lists.ts'
import { planStaged, type Planned, type PlanOrder } from './store/plan.ts'
import type { DB } from './store/schema.ts'
import { listOpenSlices } from './store/slices.ts'

/** Where the queries of a list come from. */
export type ListSource =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }
  /** What the tables know of the list since it was last read. */
  | { readonly kind: 'members'; readonly list: number }

/** A list to be planned, and the run that it is for. */
export interface ListOrder extends Omit<
  PlanOrder,
  'source' | 'origin' | 'api' | 'usable' | 'single'
> {
  readonly from: ListSource
  readonly reading: ReadOptions
  /** Called within the transaction that plans; what it throws undoes everything and comes out as it is. */
  readonly record?: (trx: Transaction<DB>, run: number) => Promise<void>
}

/** What became of one list. */
export interface ListPlan extends Planned {
  readonly list: string
  /** Null for a list that was planned from the tables. */
  readonly heading: Heading | null
  readonly headersAgain: readonly number[]
  readonly estimate: Estimate
}

export interface Desk {
  readonly db: Database
  readonly market: Market
  /** Told now and then how far it is. */
  readonly progress?: (step: Step) => void
}

/** How far an enqueue is: lines read, a list being planned, slices queued. */
export type Step =
  | { readonly kind: 'reading'; readonly list: string; readonly lines: number }
  | { readonly kind: 'planning'; readonly list: string; readonly lines: number }
  | { readonly kind: 'queueing'; readonly run: number; readonly slices: number }

export interface Plans {
  readonly lists: readonly ListPlan[]
  readonly purse: Purse
  /** False after a preview that nobody agreed to: nothing was written. */
  readonly committed: boolean
}

/** Reads lists and plans a run of each, all of them or none being readable. */
export async function planLists(
  desk: Desk,
  orders: readonly ListOrder[],
  agree: 'always' | 'never' | ((preview: Plans) => Promise<boolean>),
): Promise<Plans> {
  const purse = await readPurse(desk.db, { name: desk.market.account, kind: desk.market.origin })
  return onConnection(desk.db, async (connection) => {
    const staged: Staged[] = []
    for (const [index, order] of orders.entries()) {
      staged.push(await stageList(connection, index, { desk, order, purse }))
    }
    const planAll = async (keep: boolean): Promise<Plans> => {
      const lists: ListPlan[] = []
      for (const list of staged) lists.push(await planStage(connection, list, keep))
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

interface Staged {
  readonly stage: Stage
  readonly context: Context
  readonly order: PlanOrder
  readonly heading: Heading | null
  readonly headersAgain: readonly number[]
  readonly lines: number
}

interface Context {
  readonly desk: Desk
  readonly order: ListOrder
  readonly purse: Purse
}

async function stageList(
  connection: Kysely<DB>,
  number: number,
  context: Context,
): Promise<Staged> {
  const { desk, order } = context
  const stage = await openStage(connection, number)
  const { origin, api } = desk.market
  const { from, reading: _, record: __, ...rest } = order
  if (from.kind === 'members') {
    const usable = await stage.addMembers(from.list)
    const shown = `the list ${order.list}`
    const planOrder = { ...rest, source: null, origin, api, usable, single: true }
    if (usable === 0) throw new Misuse(`expected queries in ${shown}, got none; enqueue its file`)
    return { stage, context, order: planOrder, heading: null, headersAgain: [], lines: usable }
  }
  const source =
    from.kind === 'file' ? await openFile(from.path, from.shown) : openStream(from.stream)
  try {
    const list = await openList(source, order.reading)
    const counts = { usable: 0, queries: 0, rejected: 0, lines: 0 }
    let reasons: readonly string[] = []
    let writing: Promise<void> = Promise.resolve()
    for await (const { entries, rejected, usable, line } of list.batches) {
      await writing
      counts.usable += usable
      counts.queries += entries.length
      counts.rejected += rejected.length
      counts.lines = line
      if (reasons.length < 3) {
        const more = rejected.map((found) => `line ${found.line}: ${found.reason}`)
        reasons = [...reasons, ...more].slice(0, 3)
      }
      // Postgres takes this piece while the next one is read.
      writing = stage.add(entries).then(() => stage.reject(rejected))
      // An error is thrown where it is awaited; until then it must not end the process.
      writing.catch(() => undefined)
      desk.progress?.({ kind: 'reading', list: order.list, lines: line })
    }
    await writing
    if (counts.usable === 0) throw noUsableLine(source.shown, counts.rejected, reasons)
    const { usable, queries, lines } = counts
    const planOrder = {
      ...rest,
      source: from.kind === 'file' ? from.path : source.shown,
      origin,
      api,
      usable,
      single: queries === usable,
    }
    const { heading, headersAgain } = list
    return { stage, context, order: planOrder, heading, headersAgain, lines }
  } finally {
    await source.close()
  }
}

function noUsableLine(shown: string, rejected: number, reasons: readonly string[]): Misuse {
  const got =
    rejected === 0
      ? 'a header only'
      : `${rejected} rejected (${reasons.join('; ')}${rejected > reasons.length ? '; …' : ''})`
  return new Misuse(
    `expected at least one usable line in ${shown}, got ${got}; nothing was queued, correct the list`,
  )
}

/** Thrown to undo a transaction that was a preview only. */
class Undone extends Error {
  readonly planned: Planned

  constructor(planned: Planned) {
    super('undone')
    this.planned = planned
  }
}

async function planStage(
  connection: Kysely<DB>,
  { stage, context, order, heading, headersAgain, lines }: Staged,
  keep: boolean,
): Promise<ListPlan> {
  const { desk, purse } = context
  desk.progress?.({ kind: 'planning', list: order.list, lines })
  const planned = await connection
    .transaction()
    .execute(async (trx) => {
      const done = await planStaged(trx, stage.number, order)
      if (!keep) throw new Undone(done)
      await context.order.record?.(trx, done.run)
      return done
    })
    .catch((error: unknown) => {
      if (error instanceof Undone) return error.planned
      throw error
    })
  const estimate = estimateCost(planned.toBuy, purse.costs, costClass)
  return { ...planned, list: order.list, heading, headersAgain, estimate }
}

/** Where slices are handed to. */
export interface SliceSink {
  add(slices: readonly QueuedSlice[]): Promise<void>
}

const page = 1000

/** Queues what is left of a run; what the queue still holds stays as it is. */
export async function queueRun(
  desk: Pick<Desk, 'db' | 'progress'>,
  queue: SliceSink,
  run: number,
): Promise<number> {
  let after: { run: number; slice: number } | null = null
  let queued = 0
  for (;;) {
    const slices = await listOpenSlices(desk.db, { after, limit: page, run })
    const last = slices.at(-1)
    if (last === undefined) return queued
    await queue.add(
      slices.map(({ slice, round, priority, delay_ms }) => ({
        run,
        slice,
        round,
        priority,
        delayMs: delay_ms,
      })),
    )
    queued += slices.length
    desk.progress?.({ kind: 'queueing', run, slices: queued })
    after = { run, slice: last.slice }
  }
}
