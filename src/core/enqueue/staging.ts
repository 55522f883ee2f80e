// Reads a list into its stage.

import type { Database, Transaction } from '../../base/database/database.ts'
import { Misuse } from '../../base/errors.ts'
import type { Query } from '../../base/query.ts'
import { awaitedLater } from '../../base/waiting.ts'
import { openSource } from '../lists/open.ts'
import { agreedOf, type ReadOptions } from '../lists/options.ts'
import { type ColumnFindings, type Heading, type ListPiece, openList } from '../lists/read.ts'
import type { ListedQuery } from '../lists/rows.ts'
import { type Source, streamName } from '../lists/source.ts'
import type { Supplier } from '../mill.ts'
import { type PlanOrder, refuseOtherSource } from './order.ts'
import { type Connections, Stage } from './stage.ts'

type ListSource =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }
  /** Members of the list in the database, from the last time it was read. */
  | { readonly kind: 'members'; readonly list: number }

type Needed = 'list' | 'kind' | 'runDate' | 'budget' | 'maxAgeMs' | 'into'
type Optional = 'adaptive' | 'part' | 'shares' | 'join' | 'ifRemoved'

/** A list to be planned, and its run. Nightly runs drop removed queries; manual runs ask the user. */
export interface ListOrder extends Pick<PlanOrder, Needed>, Partial<Pick<PlanOrder, Optional>> {
  readonly from: ListSource
  readonly reading: ReadOptions
  /** Remarks about how the file was read, in addition to those that result from reading it. */
  readonly notices?: readonly string[]
  /**
   * Called within the planning transaction. An error that it throws rolls everything back and is passed on unchanged.
   */
  readonly record?: (trx: Transaction, run: number) => Promise<void>
}

export interface Desk {
  readonly db: Database
  readonly supplier: Supplier
  /** Called periodically with the progress. */
  readonly progress?: (step: EnqueueProgress) => void
}

export type EnqueueProgress =
  | {
      readonly kind: 'reading'
      readonly list: string
      readonly lines: number
      readonly pace: Pace
    }
  | { readonly kind: 'planning'; readonly list: string; readonly lines: number }
  | { readonly kind: 'queueing'; readonly run: number; readonly slices: number }

/** A list staged in temporary tables, ready to be planned. */
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

/** A few queries as they will be sent, to make a wrong column obvious. */
export interface Sample {
  readonly first: readonly Query[]
  readonly last: Query | null
}

/** Reads a list into temporary tables of these connections, which no other connection can see. */
export async function stageList(
  connections: Connections,
  number: number,
  { desk, order }: { desk: Desk; order: ListOrder },
): Promise<Staged> {
  const labels = (order.shares ?? []).map(({ tag }) => tag)
  const stage = new Stage(connections, number, labels)
  await stage.start()
  const { from } = order
  if (from.kind === 'members') return stageMembers(stage, from.list, { desk, order })
  const source = from.kind === 'file' ? from.path : streamName
  await refuseOtherSource(desk.db, { ...orderOf(desk, order), source })
  let read = await readInto(stage, { desk, order })
  if (read.again !== null) {
    if (from.kind === 'stream') throw otherFurtherDown()
    await stage.start()
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
    notices: [...(order.notices ?? []), ...list.notices],
    sample: { first: tally.first, last: tally.last },
    lines: tally.lines,
  }
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
    'expected standard input to keep one format to its end, got later rows that contradict the first ones; save it as a file, which can be read twice',
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
  const ifRemoved = order.ifRemoved ?? usuallyRemoved(order)
  const rest = { origin, api, join, adaptive, part, shares, ifRemoved, reading: undefined }
  return { list, kind, runDate, budget, maxAgeMs, into, ...rest }
}

/** If the list was not read completely, it is unknown which queries were removed. */
function usuallyRemoved({ kind, from, join }: ListOrder): PlanOrder['ifRemoved'] {
  if (from.kind === 'members' || join === true) return 'keep'
  return kind === 'nightly' ? 'drop' : 'ask'
}

/** Writes a list to its stage while reading it, and counts it. */
async function stagePieces(
  stage: Stage,
  pieces: AsyncIterable<ListPiece>,
  progress: (lines: number) => void,
): Promise<ListTally> {
  const tally = emptyTally()
  let writing: Promise<void> = Promise.resolve()
  for await (const piece of pieces) {
    await stage.add(piece.queries)
    await writing
    // Postgres processes this chunk while the next one is read.
    writing = awaitedLater(stage.reject(piece.rejected))
    countPiece(tally, piece)
    progress(piece.line)
  }
  await writing
  await stage.end()
  return tally
}

function noUsableLine(shown: string, { rejected, reasons }: ListTally): Misuse {
  const more = rejected > reasons.length ? '; …' : ''
  const got =
    rejected === 0 ? 'a header only' : `${rejected} rejected (${reasons.join('; ')}${more})`
  return new Misuse(
    `expected at least one usable line in ${shown}, got ${got}; nothing was queued: correct the list`,
  )
}

/** Counts that are kept while a list is read. */
type ListTally = ReturnType<typeof emptyTally>

function emptyTally() {
  return {
    usable: 0,
    queries: 0,
    rejected: 0,
    lines: 0,
    /** True if lines set at most a priority and a weight besides the query. */
    plain: true,
    /** True if a line sets how often its query is bought, or the maximum age of its answer. */
    wished: false,
    /** First rejection reasons, for display. */
    reasons: [] as string[],
    /** Distinct parameters that determine the price; at most two are kept. */
    requests: [] as NonNullable<PlanOrder['request']>[],
    /** The first queries and the last one, as they will be sent. */
    first: [] as Query[],
    last: null as Query | null,
  }
}

/** Number of reasons and queries that are shown. */
const mostShown = 3

function countPiece(tally: ListTally, { queries, rejected, usable, line }: ListPiece): void {
  tally.usable += usable
  tally.queries += queries.length
  tally.rejected += rejected.length
  tally.lines = line
  tally.plain &&= queries.every(isPlain)
  tally.wished ||= queries.some(
    ({ everyDays, maxAgeMs }) => everyDays !== null || maxAgeMs !== null,
  )
  if (tally.reasons.length < mostShown) {
    const more = rejected.map((found) => `line ${found.line}: ${found.reason}`)
    tally.reasons = [...tally.reasons, ...more].slice(0, mostShown)
  }
  if (tally.first.length < mostShown) {
    const more = queries.slice(0, mostShown).map(({ query }) => query)
    tally.first = [...tally.first, ...more].slice(0, mostShown)
  }
  tally.last = queries.at(-1)?.query ?? tally.last
  for (const { query } of queries) {
    if (tally.requests.length > 1) return
    const [known] = tally.requests
    if (known?.num === query.num && known.device === query.device) continue
    tally.requests = [...tally.requests, { num: query.num, device: query.device }]
  }
}

function isPlain({ tags, target, given }: ListedQuery): boolean {
  return tags.length === 0 && target === null && given === null
}

interface Pace {
  readonly seconds: number
  /** Share of the file read so far; null if its size is unknown. */
  readonly share: number | null
}

/** Measures the reading speed of a source from now on. */
function paceOf({ size, taken }: Pick<Source, 'size' | 'taken'>): () => Pace {
  const started = performance.now()
  return () => ({
    seconds: (performance.now() - started) / 1000,
    share: size === null || size === 0 ? null : Math.min(taken() / size, 1),
  })
}

/** Lines per second and time remaining, as far as they are known. */
export function paceNote(lines: number, { seconds, share }: Pace): string {
  if (seconds < 0.5) return ''
  const rate = `, ${Math.round(lines / seconds)} a second`
  if (share === null || share < 0.01) return rate
  const left = Math.ceil((seconds / share) * (1 - share))
  return `${rate}, ${Math.round(share * 100)} % read, about ${left} s left`
}
