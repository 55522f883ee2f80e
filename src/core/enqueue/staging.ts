// Reads a list into its staging tables.

import type { Database, Transaction } from '../../base/database/database.ts'
import { Misuse } from '../../base/errors.ts'
import type { Query } from '../../base/query.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { Funds } from '../ledger/prices.ts'
import { type ListBytes, openSource } from '../lists/open.ts'
import { agreedOf, type ReadOptions } from '../lists/options.ts'
import { type ColumnFindings, type Heading, type ListPiece, openList } from '../lists/read.ts'
import { streamName } from '../lists/source.ts'
import type { Supplier } from '../mill.ts'
import { type PlanOrder, refuseOtherSource } from './order.ts'
import { type Connections, createStage, type Stage } from './stage.ts'

type Needed = 'list' | 'kind' | 'runDate' | 'budget' | 'maxAgeMs' | 'into'
type Optional = 'adaptive' | 'part' | 'shares' | 'join' | 'ifRemoved'

/** By default, a nightly run drops removed queries, and a manual run asks the user. */
export interface ListOrder extends Pick<PlanOrder, Needed>, Partial<Pick<PlanOrder, Optional>> {
  /** The list's file, or the members stored when the list was last read. */
  readonly from: ListBytes | { readonly kind: 'members'; readonly list: number }
  readonly reading: ReadOptions
  /** Further remarks about the file, besides those made while reading it. */
  readonly notices?: readonly string[]
  /** Called within the planning transaction. An error rolls back the whole plan and is rethrown unchanged. */
  readonly record?: (trx: Transaction, run: number) => Promise<void>
}

export interface Desk {
  readonly db: Database
  readonly supplier: Supplier
  readonly progress?: (step: string) => void
}

export interface Staged {
  readonly stage: Stage
  readonly order: PlanOrder
  readonly record: ListOrder['record']
  readonly read: {
    /** Null if the list is planned from the database. */
    readonly heading: Heading | null
    readonly headersAgain: readonly number[]
    /** Remarks that the user should read before buying. */
    readonly notices: readonly string[]
    /** A few queries as they will be sent, so that a wrong column is obvious. */
    readonly sample: { readonly first: readonly Query[]; readonly last: Query | null }
  }
}

/** Reads a list into temporary tables, which are visible only to these connections. */
export async function stageList(
  connections: Connections,
  number: number,
  { desk, order, funds }: { desk: Desk; order: ListOrder; funds: Funds },
): Promise<Staged> {
  const { from, reading: typed, notices: _, record, shares = [], ...settings } = order
  const { list, kind } = order
  const labels = shares.map(({ tag }) => tag)
  const stage = createStage(connections, number, labels)
  await stage.start()
  const { origin, api } = desk.supplier
  const { join = kind === 'nightly', ifRemoved = usuallyRemoved(order) } = order
  const prices = funds.costs.map(({ class: name, average, dearest }) => {
    return { class: name, credits: average ?? dearest }
  })
  const defaults = { adaptive: false, part: null }
  const usual = { ...defaults, ...settings, shares, origin, api, join, ifRemoved, prices }
  if (from.kind === 'members') {
    const usable = await stage.addMembers(from.list)
    if (usable === 0)
      throw new Misuse(`expected queries in the list ${list}, got none; enqueue its file`)
    const plain = { single: true, plain: true, wished: true, request: null }
    const members = { source: null, reading: undefined, usable, ...plain }
    const sample = { first: [], last: null }
    const read = { heading: null, headersAgain: [], notices: [], sample }
    return { stage, order: { ...usual, ...members }, record, read }
  }
  const source = from.kind === 'file' ? from.path : streamName
  await refuseOtherSource(desk.db, { list, join, source })
  const { tally, read, dialect } = await stageFile(stage, from, { desk, order })
  const reading = kind === 'manual' ? agreedOf(typed, dialect) : undefined
  const { usable, queries, plain, wished, request = null } = tally
  const found = { source, reading, usable, single: queries === usable, plain, wished, request }
  return { stage, order: { ...usual, ...found }, record, read }
}

/** If the list was not read completely, the removed queries are unknown, so all queries are kept. */
function usuallyRemoved({ kind, from, join }: ListOrder): PlanOrder['ifRemoved'] {
  if (from.kind === 'members' || join === true) return 'keep'
  return kind === 'nightly' ? 'drop' : 'ask'
}

/** Reads a file, and reads it again if later rows contradict the first lines. */
async function stageFile(
  stage: Stage,
  from: ListBytes,
  { desk, order }: { desk: Desk; order: ListOrder },
) {
  let read = await readInto(stage, from, { desk, order })
  if (read.again !== null) {
    if (from.kind === 'stream') {
      throw new Misuse(
        'expected standard input to have the same format throughout, got rows in another format; save the input to a file, which can be read twice',
      )
    }
    await stage.start()
    read = await readInto(stage, from, { desk, order, known: read.again })
  }
  const { tally, list } = read
  if (tally.usable === 0) throw noUsableLine(from.kind === 'file' ? from.shown : streamName, tally)
  const { heading, headersAgain } = list
  const notices = [...(order.notices ?? []), ...list.notices]
  const sample = { first: tally.first, last: tally.last }
  return { tally, read: { heading, headersAgain, notices, sample }, dialect: heading.dialect }
}

async function readInto(
  stage: Stage,
  from: ListBytes,
  { desk, order, known }: { desk: Desk; order: ListOrder; known?: ColumnFindings },
) {
  const { list: name, reading } = order
  const source = await openSource(from, reading)
  try {
    const list = await openList(source, reading, known)
    const tally = emptyTally()
    let writing: Promise<void> = Promise.resolve()
    for await (const piece of list.pieces) {
      await stage.add(piece.queries)
      await writing
      // Postgres processes this chunk while the next chunk is read.
      writing = awaitedLater(stage.reject(piece.rejected))
      countPiece(tally, piece)
      desk.progress?.(`reading ${name}: ${piece.line} lines`)
    }
    await writing
    await stage.end()
    return { list, tally, again: list.again() }
  } finally {
    await source.close()
  }
}

function noUsableLine(shown: string, { rejected, reasons }: ListTally): Misuse {
  const more = rejected > reasons.length ? '; …' : ''
  const got =
    rejected === 0 ? 'only a header' : `${rejected} rejected (${reasons.join('; ')}${more})`
  return new Misuse(
    `expected at least one usable line in ${shown}, got ${got}; nothing was queued: correct the list`,
  )
}

type ListTally = ReturnType<typeof emptyTally>

function emptyTally() {
  return {
    usable: 0,
    queries: 0,
    rejected: 0,
    plain: true,
    wished: false,
    /** Reasons for the first rejections, as shown in the message. */
    reasons: [] as string[],
    request: undefined as PlanOrder['request'] | undefined,
    first: [] as Query[],
    last: null as Query | null,
  }
}

const mostShown = 3

function countPiece(tally: ListTally, { queries, rejected, usable }: ListPiece): void {
  tally.usable += usable
  tally.queries += queries.length
  tally.rejected += rejected.length
  tally.plain &&= queries.every(
    ({ tags, target, given }) => tags.length === 0 && target === null && given === null,
  )
  tally.wished ||= queries.some(
    ({ everyDays, maxAgeMs }) => everyDays !== null || maxAgeMs !== null,
  )
  for (const { line, reason } of rejected.slice(0, mostShown - tally.reasons.length))
    tally.reasons.push(`line ${line}: ${reason}`)
  for (const { query } of queries.slice(0, mostShown - tally.first.length)) tally.first.push(query)
  tally.last = queries.at(-1)?.query ?? tally.last
  for (const { query } of queries) {
    if (tally.request === null) return
    const { num, device } = query
    tally.request ??= { num, device }
    if (tally.request.num !== num || tally.request.device !== device) tally.request = null
  }
}
