import { Misuse } from '../../shared/errors.ts'
import type { Query } from '../../shared/query.ts'
import { agreedOf } from '../../lists/agreed.ts'
import { openSource } from '../../lists/open.ts'
import { openList, type Heading, type ReadOptions, type ColumnFindings } from '../../lists/read.ts'
import { streamName } from '../../lists/source.ts'
import { paceOf, type Pace } from './pace.ts'
import { noUsableLine, stagePieces } from './pieces.ts'
import { refuseOtherSource } from '../../store/planning/lists.ts'
import type { Supplier } from '../mill/supplier.ts'
import type { Database, Transaction } from '../../store/database.ts'
import type { PlanOrder } from '../../store/planning/order.ts'
import { openStage, type Stage } from '../../store/planning/stage.ts'
import type { Connections } from '../../store/planning/staged-tables.ts'

/** Where the queries of a list come from. */
export type ListSource =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }
  /** What the tables know of the list since it was last read. */
  | { readonly kind: 'members'; readonly list: number }

/** A list to be planned, and the run that it is for. */
export interface ListOrder extends Omit<
  PlanOrder,
  | 'source'
  | 'origin'
  | 'api'
  | 'usable'
  | 'single'
  | 'plain'
  | 'wished'
  | 'request'
  | 'reading'
  | 'join'
  | 'adaptive'
  | 'part'
  | 'shares'
  | 'prices'
> {
  /** True: a query also rests when its row in the table of cadences says so. */
  readonly adaptive?: boolean
  /** The part of a night's credits that the list is given; lists are not told apart unless told. */
  readonly part?: PlanOrder['part']
  /** Labels that are given a share of the credits; none unless told. */
  readonly shares?: PlanOrder['shares']
  /** True: what was read from another source before may join it. */
  readonly join?: boolean
  readonly from: ListSource
  readonly reading: ReadOptions
  /** Called within the transaction that plans; what it throws undoes everything and comes out as it is. */
  readonly record?: (trx: Transaction, run: number) => Promise<void>
}

/** What planning works with. */
export interface Desk {
  readonly db: Database
  readonly supplier: Supplier
  /** Called now and then with how far it is. */
  readonly progress?: (step: EnqueueProgress) => void
}

/** How far an enqueue is: lines read, a list being planned, slices queued. */
export type EnqueueProgress =
  | {
      readonly kind: 'reading'
      readonly list: string
      readonly lines: number
      readonly pace: Pace
    }
  | { readonly kind: 'planning'; readonly list: string; readonly lines: number }
  | { readonly kind: 'queueing'; readonly run: number; readonly slices: number }

/** A list whose lines lie in temporary tables, ready to be planned. */
export interface Staged {
  readonly stage: Stage
  readonly order: Omit<PlanOrder, 'prices'>
  readonly record: ListOrder['record']
  readonly heading: Heading | null
  readonly headersAgain: readonly number[]
  readonly notices: readonly string[]
  readonly sample: Sample
  readonly lines: number
}

/** A few queries as they will be sent: a wrong column shows at once. */
export interface Sample {
  readonly first: readonly Query[]
  readonly last: Query | null
}

/** Reads a list into temporary tables of the connections; nothing of it is to be seen elsewhere. */
export async function stageList(
  connections: Connections,
  number: number,
  { desk, order }: { desk: Desk; order: ListOrder },
): Promise<Staged> {
  const stage = await openStage(connections, number, labelsOf(order))
  const { from } = order
  if (from.kind === 'members') return stageMembers(stage, from.list, { desk, order })
  const source = from.kind === 'file' ? from.path : streamName
  await refuseOtherSource(desk.db, { ...orderOf(desk, order), source })
  let read = await readInto(stage, { desk, order })
  if (read.again !== null) {
    if (from.kind === 'stream') throw otherFurtherDown()
    await stage.empty()
    read = await readInto(stage, { desk, order, known: read.again })
  }
  const { tally, list } = read
  if (tally.usable === 0) throw noUsableLine(from.kind === 'file' ? from.shown : source, tally)
  return {
    stage,
    order: {
      ...orderOf(desk, order),
      source,
      reading: order.kind === 'manual' ? agreedOf(order.reading, list.heading.dialect) : undefined,
      usable: tally.usable,
      single: tally.queries === tally.usable,
      plain: tally.plain,
      wished: tally.wished,
      request: tally.requests.length === 1 ? (tally.requests[0] ?? null) : null,
    },
    record: order.record,
    heading: list.heading,
    headersAgain: list.headersAgain,
    notices: list.notices,
    sample: { first: tally.first, last: tally.last },
    lines: tally.lines,
  }
}

function labelsOf({ shares = [] }: ListOrder): readonly string[] {
  return shares.map(({ tag }) => tag)
}

async function readInto(
  stage: Stage,
  { desk, order, known }: { desk: Desk; order: ListOrder; known?: ColumnFindings },
) {
  const { from, reading } = order
  if (from.kind === 'members') throw new Error('expected a file or a stream, got a list')
  const source = await openSource(from, reading)
  try {
    const list = await openList(source, reading, known)
    const pace = paceOf(source)
    const tally = await stagePieces(stage, list.pieces, (lines) =>
      desk.progress?.({ kind: 'reading', list: order.list, lines, pace: pace() }),
    )
    return { list, tally, again: list.again() }
  } finally {
    await source.close()
  }
}

function otherFurtherDown(): Misuse {
  return new Misuse(
    'expected the columns of standard input to mean the same to the end, got rows further down that say otherwise than its beginning; save it as a file, which is read twice then',
  )
}

async function stageMembers(
  stage: Stage,
  list: number,
  { desk, order }: { desk: Desk; order: ListOrder },
): Promise<Staged> {
  const usable = await stage.addMembers(list)
  if (usable === 0) {
    throw new Misuse(`expected queries in the list ${order.list}, got none; enqueue its file`)
  }
  const rest = { source: null, reading: undefined, usable, single: true, plain: true, wished: true }
  return {
    stage,
    order: { ...orderOf(desk, order), ...rest, request: null },
    record: order.record,
    heading: null,
    headersAgain: [],
    notices: [],
    sample: { first: [], last: null },
    lines: usable,
  }
}

function orderOf({ supplier }: Desk, order: ListOrder) {
  const { list, kind, runDate, budget, maxAgeMs, into } = order
  const { origin, api } = supplier
  const join = order.join ?? kind === 'nightly'
  const { adaptive = false, part = null, shares = [] } = order
  const rest = { origin, api, join, adaptive, part, shares, reading: undefined }
  return { list, kind, runDate, budget, maxAgeMs, into, ...rest }
}
