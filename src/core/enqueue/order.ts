// Decides which queries are bought first when credits are short, and which queries are skipped.

import { basename, dirname } from 'node:path'
import type { Origin } from '../../base/answer.ts'
import {
  countOf,
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

export interface TaggedShare {
  readonly tag: string
  /** Share of a night's credits, from 0 to 1, for the queries with this tag. */
  readonly share: number
}

/** Number of tasks whose parameters lead to the same price. */
export interface Purchase {
  readonly num: number
  readonly device: string | null
  readonly tasks: number
}

/** A list to be planned, with the settings of its run. */
export interface PlanOrder {
  readonly list: string
  /** If null, the stored source is kept. */
  readonly source: string | null
  /** Flags for reading the list in the next nightly run. If undefined, the stored flags are kept. */
  readonly reading: object | null | undefined
  /** True if the source may be merged into a list that was read from a different source. */
  readonly join: boolean
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  /**
   * Maximum number of credits for the whole run. Credits already spent by the run `into` do not count. If
   * undefined, the budget of an existing run does not change.
   */
  readonly budget: number | null | undefined
  readonly maxAgeMs: number
  /** True if queries may be skipped according to the cadence table. */
  readonly adaptive: boolean
  /** The list's share of a night's credits when credits are short, from 0 to 1; null if no list has a share. */
  readonly part: number | null
  /** If a query has several of these tags, the first tag applies. */
  readonly shares: readonly TaggedShare[]
  /** Expected cost of a call for each known price class. */
  readonly prices: readonly { readonly class: string; readonly credits: number }[]
  /** Required origin and API of reused answers. */
  readonly origin: Origin
  readonly api: string
  /** Run to which the list is added. If null, a manual plan joins any open manual run of the list. */
  readonly into: number | null
  /** Action for queries that are open in a joined run but no longer in the list. */
  readonly ifRemoved: 'ask' | 'drop' | 'keep'
  /** Number of lines with queries in the file. */
  readonly usable: number
  /** True if every usable line contained exactly one query. */
  readonly single: boolean
  /** True if lines contain at most a priority and a weight in addition to the query. */
  readonly plain: boolean
  /** True if any line specifies an interval or a maximum answer age. */
  readonly wished: boolean
  /** Parameters that determine the price; null if they differ between queries. */
  readonly request: Omit<Purchase, 'tasks'> | null
}

export type BuyingOrder = readonly (readonly [
  column: 'overdue' | 'weight' | 'answered' | 'ord',
  how?: OrderByModifiers,
])[]

/**
 * Computes a sort key for each merged line: the cumulative credits of its tag, divided by the tag's share.
 * When credits run out, each tag with unbought queries has received its share, plus or minus one call.
 * Credits that a tag does not need are shared by the other tags.
 */
export function turnOf({ shares }: Pick<PlanOrder, 'shares'>, usual: BuyingOrder) {
  const { fn } = expressionBuilder<StageTables, 'merged'>()
  const fractions = shares.map(({ share }) => share)
  const rest = fractions.reduce((left, share) => left - share, 1)
  // Share for queries that have none of these tags. A tiny remainder is a rounding error.
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
): Promise<readonly (TaggedShare & { readonly queued: number })[]> {
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

/** Returns the parameters of `merge_duplicates.sql` that determine which answers are looked up. */
export function mergingOf(order: PlanOrder) {
  const { kind, runDate, budget, maxAgeMs, origin, api, wished, adaptive, part, shares, prices } =
    order
  const nightly = kind === 'nightly'
  // If credits may run out, the least valuable queries must come last.
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
    // Cost assumed for a price class without a known price.
    dearest: prices.reduce((most, { credits }) => Math.max(most, credits), 0) || 1,
  }
}

/** Counts the queries that would reuse an old answer when they are due. */
export async function countUnusedIntervals(
  trx: Transaction<DB>,
  { wished, kind, maxAgeMs }: Pick<PlanOrder, 'wished' | 'kind' | 'maxAgeMs'>,
): Promise<number> {
  if (!wished) return 0
  // Lines without an age use the nightly maximum age, which is unknown in a manual run.
  const usual = kind === 'nightly' ? maxAgeMs : 0
  const idle = trx
    .withTables<StageTables>()
    .selectFrom('merged')
    .where(sql<boolean>`every_days::bigint * ${dayMs} <= coalesce(max_age_ms, ${usual})`)
  return countOf(trx, idle.select('id'))
}

export async function storeList(
  trx: Transaction<DB>,
  { list, source, reading }: Pick<PlanOrder, 'list' | 'source' | 'reading'>,
): Promise<number> {
  const agreed = reading === null || reading === undefined ? null : JSON.stringify(reading)
  const change = {
    ...(source !== null && { source }),
    ...(reading !== undefined && { reading: agreed }),
  }
  const { id } = await trx
    .insertInto('lists')
    .values({ name: list, source: source ?? '', reading: agreed })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ name: list, ...change }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Rejects a list from another source unless requested, because exports from several sites may share a name. */
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
    `expected an unused list name for ${source}, got ${JSON.stringify(list)}, which is the name of the list read from ${known.source}; use --as ${JSON.stringify(name)} for a separate list, or --join to combine both into one list`,
  )
}

export function knownList(db: Kysely<DB>, name: string) {
  return db
    .selectFrom('lists')
    .select(['id', 'source', 'reading'])
    .where('name', '=', name)
    .executeTakeFirst()
}
