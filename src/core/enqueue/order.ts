// Decides which queries are bought first when credits are short, and which queries are skipped.

import { basename, dirname } from 'node:path'
import type { Origin } from '../../base/answer.ts'
import {
  type ExpressionBuilder,
  expressionBuilder,
  type Kysely,
  type NotNull,
  type OrderByModifiers,
  sql,
  type Transaction,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { Misuse } from '../../base/errors.ts'
import { dayMs } from '../../base/time/zone.ts'
import type { StageTables } from './stage.ts'

/** Share of a night's credits, from 0 to 1, for the queries with a tag. */
export interface TaggedShare {
  readonly tag: string
  readonly share: number
}

/** A list to be planned, with the settings of its run. */
export interface PlanOrder {
  readonly list: string
  /** Source of the list; if null, the stored source is kept. */
  readonly source: string | null
  /** Flags for reading the list, which are stored for the next nightly run. If undefined, the stored flags are kept. */
  readonly reading: object | null | undefined
  /** True if this source may be merged into a list that was previously read from a different source. */
  readonly join: boolean
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  /**
   * Maximum number of credits for the whole run. If the list joins the run `into`, the maximum applies to the credits
   * that are spent from now on. If undefined, the budget of an existing run does not change.
   */
  readonly budget: number | null | undefined
  readonly maxAgeMs: number
  /** True if a query may be skipped because of its row in the cadence table. */
  readonly adaptive: boolean
  /** The list's share of a night's credits when credits are short, from 0 to 1; null if no list has a share. */
  readonly part: number | null
  /**
   * Tags with a share of the credits when credits are short. A query with several of these tags counts toward the tag
   * that comes first.
   */
  readonly shares: readonly TaggedShare[]
  /** Expected cost of a call for each known price class. */
  readonly prices: readonly { readonly class: string; readonly credits: number }[]
  /** Origin and API that an answer must have to be reused. */
  readonly origin: Origin
  readonly api: string
  /**
   * Existing run, of any kind, to which the list is added. If null, a manual plan joins the list's open manual run, and
   * any other plan starts a new run.
   */
  readonly into: number | null
  /** Handling of queries that are still open in a joined run, but no longer on the list. */
  readonly ifRemoved: 'ask' | 'drop' | 'keep'
  /** Number of lines in the file that contained queries. */
  readonly usable: number
  /** True if every usable line contained exactly one query. */
  readonly single: boolean
  /** True if lines specify at most a priority and a weight besides the query. */
  readonly plain: boolean
  /** True if a line specifies how often its query is bought, or the maximum age of its answer. */
  readonly wished: boolean
  /** Parameters that determine the price; null if they differ between queries. */
  readonly request: { readonly num: number; readonly device: string | null } | null
}

/**
 * Queries that are still open in a run but no longer on its list, grouped by the parameters that determine their price.
 */
export interface RemovedQueries {
  readonly queries: number
  readonly examples: readonly string[]
  readonly byPrice: Planned['toBuy']
}

export interface Planned {
  readonly run: number
  /** True if the list was added to an open run. */
  readonly joined: boolean
  readonly rows: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly tasks: number
  readonly queued: number
  readonly reused: number
  /**
   * Number of queries that are not asked on this night because of the list or its cadence. Their last answers are used.
   */
  readonly notAsked: number
  /** Number of queries whose interval does not exceed the maximum age of a reused answer. */
  readonly unusedIntervals: number
  /** Number of reused answers that can't be read. */
  readonly unreadable: number
  readonly shares: readonly (TaggedShare & { readonly queued: number })[]
  readonly already: number
  readonly removed: RemovedQueries
  /** Number of removed queries that were cancelled. */
  readonly dropped: number
  /** State of an existing run before the list was added: credits used and reserved, and tasks still to buy. */
  readonly before: { readonly spent: number; readonly open: number }
  readonly done: boolean
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[]
  /** Tasks to buy, grouped by the parameters that determine their price. */
  readonly toBuy: readonly {
    readonly num: number
    readonly device: string | null
    readonly tasks: number
  }[]
}

export type BuyingOrder = readonly (readonly [
  column: 'overdue' | 'weight' | 'answered' | 'ord',
  how?: OrderByModifiers,
])[]

/**
 * Computes the turn of each merged line to buy: the cumulative credits of the line's tag, divided by the tag's share.
 * Queries are bought in the order of their turns. Whenever credits run out, each tag that still has queries has
 * received its share, give or take one call. Credits that a tag does not need go to the other tags in proportion to
 * their shares.
 */
export function turnOf({ shares }: Pick<PlanOrder, 'shares'>, usual: BuyingOrder) {
  const { fn } = expressionBuilder<StageTables, 'merged'>()
  const fractions = shares.map(({ share }) => share)
  const rest = fractions.reduce((left, share) => left - share, 1)
  // Share of the queries without any of these tags. A rounding error does not count as a share.
  const others = rest < 1e-9 ? 0 : rest
  const credits = fn.sum<number>('price').over((over) => {
    const labels = over.partitionBy(['priority', 'share']).orderBy('overdue', 'desc')
    return usual.reduce((order, [column, how]) => order.orderBy(column, how), labels)
  })
  return sql<number>`coalesce(
    ${credits} / nullif(coalesce((${fractions}::float8[])[share + 1], ${others}::float8), 0), 'infinity'
  )`
}

export function isQueued(eb: ExpressionBuilder<StageTables, 'merged'>) {
  return eb.and([eb.not(eb.ref('already')), eb.not(eb.ref('reused')), eb.not(eb.ref('rests'))])
}

export async function countShares(
  trx: Transaction<DB>,
  { shares }: Pick<PlanOrder, 'shares'>,
): Promise<Planned['shares']> {
  if (shares.length === 0) return []
  const rows = await trx
    .withTables<StageTables>()
    .selectFrom('merged')
    .where(isQueued)
    .where('share', 'is not', null)
    .$narrowType<{ share: NotNull }>()
    .groupBy('share')
    .select(({ fn }) => ['share', fn.countAll<number>().as('queued')])
    .execute()
  const queued = new Map(rows.map((row) => [row.share, row.queued]))
  return shares.map((one, place) => ({ ...one, queued: queued.get(place) ?? 0 }))
}

/**
 * Returns the parameters of `merge_duplicates.sql` that decide which answers are looked up. Answers are needed for
 * queries that may be skipped, and for sorting the queries. Only nightly runs skip queries.
 */
export function mergingOf(order: PlanOrder) {
  const { kind, runDate, budget, maxAgeMs, origin, api, wished, adaptive, part, shares, prices } =
    order
  const nightly = kind === 'nightly'
  // If credits may run out before the whole plan is bought, the least valuable queries must come last.
  const dated = nightly || typeof budget === 'number'
  const judged = dated && (wished || adaptive)
  return {
    nightly,
    dated,
    judged,
    adaptive: judged && nightly && adaptive,
    own_age: wished && nightly,
    max_age_ms: maxAgeMs,
    run_date: runDate,
    origin,
    api,
    priced: shares.length > 0 || part !== null,
    classes: prices.map((one) => one.class),
    credits: prices.map(({ credits }) => credits),
    // A class without a known price is assumed to cost as much as the most expensive one.
    dearest: prices.reduce((most, { credits }) => Math.max(most, credits), 0) || 1,
  }
}

/**
 * Counts the queries whose interval does not exceed the maximum age of a reused answer, which is a contradiction. Such
 * a query is not bought before its answer exceeds the maximum age.
 */
export async function countUnusedIntervals(
  trx: Transaction<DB>,
  { wished, kind, maxAgeMs }: Pick<PlanOrder, 'wished' | 'kind' | 'maxAgeMs'>,
): Promise<number> {
  if (!wished) return 0
  // In a manual run, the nightly maximum age is unknown for lines that do not set a maximum age.
  const usual = kind === 'nightly' ? maxAgeMs : 0
  const { idle } = await trx
    .withTables<StageTables>()
    .selectFrom('merged')
    .where(sql<boolean>`every_days::bigint * ${dayMs} <= coalesce(max_age_ms, ${usual})`)
    .select(({ fn }) => fn.countAll<number>().as('idle'))
    .executeTakeFirstOrThrow()
  return idle
}

/** Finds a list by name or inserts it, and stores its source and reading options for the next run. */
export async function storeList(
  trx: Transaction<DB>,
  { list, source, reading }: Pick<PlanOrder, 'list' | 'source' | 'reading'>,
): Promise<number> {
  const agreed = reading === null || reading === undefined ? null : JSON.stringify(reading)
  const change = {
    ...(source === null ? {} : { source }),
    ...(reading === undefined ? {} : { reading: agreed }),
  }
  const { id } = await trx
    .insertInto('lists')
    .values({ name: list, source: source ?? '', reading: agreed })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ name: list, ...change }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/**
 * Rejects a list name that belongs to a different source. Exports from several sites may have the same file name, and
 * are merged into one list only on request.
 */
export async function refuseOtherSource(
  db: Kysely<DB>,
  { list, source, join }: Pick<PlanOrder, 'list' | 'source' | 'join'>,
): Promise<void> {
  if (join || source === null) return
  const known = await knownList(db, list)
  if (known === undefined || known.source === '' || known.source === source) return
  const folder = basename(dirname(source))
  const name = folder === '' || folder === '.' ? `${list} 2` : `${folder} ${list}`
  throw new Misuse(
    `expected an unused list name for ${source}, got ${JSON.stringify(list)}, the name of the list read from ${known.source}; use --as ${JSON.stringify(name)} for a separate list, or --join to read both into one`,
  )
}

/** Reads a list by name; undefined if no list has this name. */
export function knownList(db: Kysely<DB>, name: string) {
  return db
    .selectFrom('lists')
    .select(['id', 'source', 'reading'])
    .where('name', '=', name)
    .executeTakeFirst()
}
