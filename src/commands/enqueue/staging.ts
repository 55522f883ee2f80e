import { Misuse } from '../../shared/errors.ts'
import { openList, type ListPiece, type Heading, type ReadOptions } from '../../lists/read.ts'
import type { ListedQuery } from '../../lists/rows.ts'
import { openFile, openStream, type Source } from '../../lists/source.ts'
import type { Supplier } from '../mill/supplier.ts'
import type { Database, Transaction } from '../../store/database.ts'
import type { PlanOrder } from '../../store/planning/order.ts'
import { openStage, type Stage } from '../../store/planning/stage.ts'
import type { Connections } from '../../store/planning/staged-tables.ts'
import { awaitedLater } from '../../shared/waiting.ts'

/** Where the queries of a list come from. */
export type ListSource =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }
  /** What the tables know of the list since it was last read. */
  | { readonly kind: 'members'; readonly list: number }

/** A list to be planned, and the run that it is for. */
export interface ListOrder extends Omit<
  PlanOrder,
  'source' | 'origin' | 'api' | 'usable' | 'single' | 'plain' | 'request'
> {
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
  | { readonly kind: 'reading'; readonly list: string; readonly lines: number }
  | { readonly kind: 'planning'; readonly list: string; readonly lines: number }
  | { readonly kind: 'queueing'; readonly run: number; readonly slices: number }

/** A list whose lines lie in temporary tables, ready to be planned. */
export interface Staged {
  readonly stage: Stage
  readonly order: PlanOrder
  readonly record: ListOrder['record']
  readonly heading: Heading | null
  readonly headersAgain: readonly number[]
  readonly lines: number
}

/** Reads a list into temporary tables of the connections; nothing of it is to be seen elsewhere. */
export async function stageList(
  connections: Connections,
  number: number,
  { desk, order }: { desk: Desk; order: ListOrder },
): Promise<Staged> {
  const stage = await openStage(connections, number)
  const { from } = order
  if (from.kind === 'members') return stageMembers(stage, from.list, { desk, order })
  const source =
    from.kind === 'file' ? await openFile(from.path, from.shown) : openStream(from.stream)
  try {
    const list = await openList(source, order.reading)
    const tally = await stagePieces(stage, list.pieces, (lines) =>
      desk.progress?.({ kind: 'reading', list: order.list, lines }),
    )
    if (tally.usable === 0) throw noUsableLine(source, tally)
    return {
      stage,
      order: {
        ...orderOf(desk, order),
        source: from.kind === 'file' ? from.path : source.shown,
        usable: tally.usable,
        single: tally.queries === tally.usable,
        plain: tally.plain,
        request: tally.requests.length === 1 ? (tally.requests[0] ?? null) : null,
      },
      record: order.record,
      heading: list.heading,
      headersAgain: list.headersAgain,
      lines: tally.lines,
    }
  } finally {
    await source.close()
  }
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
  const rest = { source: null, usable, single: true, plain: true, request: null }
  return {
    stage,
    order: { ...orderOf(desk, order), ...rest },
    record: order.record,
    heading: null,
    headersAgain: [],
    lines: usable,
  }
}

function orderOf({ supplier }: Desk, order: ListOrder) {
  const { list, kind, runDate, budget, maxAgeMs, into } = order
  const { origin, api } = supplier
  return { list, kind, runDate, budget, maxAgeMs, into, origin, api }
}

interface Tally {
  usable: number
  queries: number
  rejected: number
  lines: number
  /** No line says more about its query than a priority and a weight. */
  plain: boolean
  /** The first reasons, for a person. */
  reasons: readonly string[]
  /** Kinds of request, as far as prices depend on them: two are enough to know that they differ. */
  requests: readonly { readonly num: number; readonly device: string | null }[]
}

const shownReasons = 3

async function stagePieces(
  stage: Stage,
  pieces: AsyncIterable<ListPiece>,
  progress: (lines: number) => void,
): Promise<Tally> {
  const counts = { usable: 0, queries: 0, rejected: 0, lines: 0 }
  const tally: Tally = { ...counts, plain: true, reasons: [], requests: [] }
  let writing: Promise<void> = Promise.resolve()
  for await (const piece of pieces) {
    await stage.add(piece.queries)
    await writing
    // Postgres takes this piece while the next one is read.
    writing = awaitedLater(stage.reject(piece.rejected))
    count(tally, piece)
    progress(piece.line)
  }
  await writing
  await stage.end()
  return tally
}

function count(tally: Tally, { queries, rejected, usable, line }: ListPiece): void {
  tally.usable += usable
  tally.queries += queries.length
  tally.rejected += rejected.length
  tally.lines = line
  tally.plain &&= queries.every(isPlain)
  if (tally.reasons.length < shownReasons) {
    const more = rejected.map((found) => `line ${found.line}: ${found.reason}`)
    tally.reasons = [...tally.reasons, ...more].slice(0, shownReasons)
  }
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

function noUsableLine({ shown }: Source, { rejected, reasons }: Tally): Misuse {
  const more = rejected > reasons.length ? '; …' : ''
  const got =
    rejected === 0 ? 'a header only' : `${rejected} rejected (${reasons.join('; ')}${more})`
  return new Misuse(
    `expected at least one usable line in ${shown}, got ${got}; nothing was queued, correct the list`,
  )
}
