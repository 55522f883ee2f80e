// Decides what is bought first when credit is short: priorities, label shares, rested queries.

import { basename, dirname } from 'node:path'
import type { Origin } from '../../base/answer.ts'
import { type Kysely, type RawBuilder, sql, type Transaction } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { only } from '../../base/database/sql-file.ts'
import { Misuse } from '../../base/errors.ts'

/** A share of a night's credits, from 0 to 1, for the queries of a label. */
export interface TaggedShare {
  readonly tag: string
  readonly share: number
}

/** A list to be planned, and its run. */
export interface PlanOrder {
  readonly list: string
  /** Null: unchanged. */
  readonly source: string | null
  /** Typed reading flags, stored for the next nightly run; undefined: unchanged. */
  readonly reading: object | null | undefined
  /** True if the list may previously have been read from a different source. */
  readonly join: boolean
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  /**
   * Maximum credits for the whole run; for a nightly run, from now on. Undefined leaves the budget of a joined run
   * unchanged.
   */
  readonly budget: number | null | undefined
  readonly maxAgeMs: number
  /** True if a query may also rest because of its row in the cadence table. */
  readonly adaptive: boolean
  /** The list's share of a night's credits when credit is short, from 0 to 1; null: lists have no shares. */
  readonly part: number | null
  /** Labels with a share of the credits when credit is short; a query counts toward the first of them that it has. */
  readonly shares: readonly TaggedShare[]
  /** Expected cost of a call for each known class. */
  readonly prices: readonly { readonly class: string; readonly credits: number }[]
  /** An answer is reused only for the same origin and API. */
  readonly origin: Origin
  readonly api: string
  /** Existing run of any kind to add to; null: the list's open manual run, or a new one. */
  readonly into: number | null
  /** Applies to open queries of a joined run that are no longer on the list. */
  readonly ifRemoved: 'ask' | 'drop' | 'keep'
  /** Number of lines of the file that contained queries. */
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

/** Open queries of a run that are no longer on its list, by the parameters that determine their price. */
export interface RemovedQueries {
  readonly queries: number
  readonly examples: readonly string[]
  readonly byPrice: Planned['toBuy']
}

/** A planned run with its counts. */
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
  /** Queries skipped because of the list or its cadence; their last answers are used instead. */
  readonly notAsked: number
  /** Queries whose interval is shorter than the maximum age of a reused answer. */
  readonly unusedIntervals: number
  /** Reused answers that can't be read. */
  readonly unreadable: number
  /** Labels with a share of the credits, and the number of queries to be bought for each. */
  readonly shares: readonly (TaggedShare & { readonly queued: number })[]
  readonly already: number
  /** Open queries of the joined run that are no longer on the list. */
  readonly removed: RemovedQueries
  /** Removed queries that were cancelled. */
  readonly dropped: number
  /** State of a joined run before anything was added: credits used and reserved, and tasks still to be bought. */
  readonly before: { readonly spent: number; readonly open: number }
  readonly done: boolean
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[]
  /** Tasks to be bought, by the parameters that determine their price. */
  readonly toBuy: readonly {
    readonly num: number
    readonly device: string | null
    readonly tasks: number
  }[]
}

type ShareOrder = Pick<PlanOrder, 'part' | 'shares' | 'prices'>

/** Adds to each merged line the first of its labels that has a share, and the price of its call. */
export function shareColumns({ part, shares, prices }: ShareOrder): {
  readonly merged: RawBuilder<unknown>
  readonly shown: RawBuilder<unknown>
} {
  if (shares.length === 0 && part === null) return { merged: sql``, shown: sql`` }
  // A class without a known price is assumed to cost as much as the most expensive one.
  const dearest = prices.reduce((most, { credits }) => Math.max(most, credits), 0) || 1
  const price = sql`coalesce(
      nullif((
        select prices.credits
        from unnest(${prices.map((one) => one.class)}::text[], ${prices.map(({ credits }) => credits)}::float8[])
          as prices (class, credits)
        where prices.class = lines.num || '/' || coalesce(lines.device, '-')
      ), 0),
      ${dearest}::float8
    )`
  return {
    merged: sql`, min(share) as share, min(num) as num, min(device) as device`,
    shown: sql`, lines.share, ${price} as price`,
  }
}

/**
 * Merged lines to be bought, each with its turn: the cumulative credits of its label divided by the label's share. If
 * queries are bought in turn order, each label has received its share wherever credit ends, to within one call, as long
 * as it has queries; unused credits go to the others in proportion to their shares.
 */
export function queuedWithTurns(
  { shares }: Pick<ShareOrder, 'shares'>,
  usual: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const fractions = shares.map(({ share }) => share)
  const rest = Math.max(
    0,
    fractions.reduce((left, share) => left - share, 1),
  )
  // Share of the queries without a label that has one. A rounding error does not count as a share.
  const others = rest < 1e-9 ? sql`0::float8` : sql`${rest}::float8`
  return sql`(
      select
        *,
        coalesce(
          sum(price) over (partition by priority, share order by overdue desc, ${usual} rows unbounded preceding)
            / nullif(coalesce((${fractions}::float8[])[share + 1], ${others}), 0),
          'infinity'
        ) as turn
      from pg_temp.merged
      where not already
        and not reused
        and not rests
    ) as queued`
}

/** Counts the queries to be bought for each label with a share. */
export async function countShares(
  trx: Transaction<DB>,
  { shares }: Pick<ShareOrder, 'shares'>,
): Promise<Planned['shares']> {
  if (shares.length === 0) return []
  const { rows } = await sql<{ share: number; queued: number }>`
    select share, count(*) as queued
    from pg_temp.merged
    where not already
      and not reused
      and not rests
      and share is not null
    group by share`.execute(trx)
  const queued = new Map(rows.map((row) => [row.share, row.queued]))
  return shares.map((one, place) => ({ ...one, queued: queued.get(place) ?? 0 }))
}

/**
 * Gives new slices of a run their turns among those of other lists: the cumulative expected cost up to the end of each
 * slice, divided by its list's share. If slices are delivered in turn order, each list has received its share wherever
 * credit ends, except for slices in progress, as long as it has queries; unused credits go to the others in proportion
 * to their shares.
 */
export async function takeTurns(
  trx: Transaction<DB>,
  run: number,
  { part, first }: { part: number; first: number },
): Promise<void> {
  await sql`
    update slices
    set turn = coalesce(costs.credits / nullif(${part}::float8, 0), 'infinity')
    from (
      select slice, sum(sum(price)) over (order by slice) as credits
      from tasks
      join pg_temp.merged on merged.id = tasks.query_id
      where run_id = ${run}
        and slice >= ${first}::bigint
      group by slice
    ) as costs
    where run_id = ${run}
      and slices.slice = costs.slice`.execute(trx)
}

/** Parts of an order that decide which queries rest and which are bought first. */
export type NotAskedOrder = Pick<
  PlanOrder,
  | 'kind'
  | 'runDate'
  | 'budget'
  | 'maxAgeMs'
  | 'origin'
  | 'api'
  | 'adaptive'
  | 'wished'
  | 'part'
  | 'shares'
  | 'prices'
>

/** SQL fragments about earlier answers, for the statement that merges lines. */
interface NotAsked {
  /** Joins for `cadence` and `last`, after the lines of the list. */
  readonly joins: RawBuilder<unknown>
  /** Answer used for a query that is not asked in this run. */
  readonly standIn: RawBuilder<unknown>
  /** True for a query that is not asked in this run. */
  readonly rests: RawBuilder<boolean>
  /** Time of the last answer, for the buying order. */
  readonly answered: RawBuilder<unknown>
  /** True for a query that has waited more than twice its interval. */
  readonly overdue: RawBuilder<boolean>
}

const asked: NotAsked = {
  joins: sql``,
  standIn: sql`null::bigint`,
  rests: sql<boolean>`false`,
  answered: sql`null::timestamptz`,
  overdue: sql<boolean>`false`,
}

/** True for a plan that may not be bought completely, so that the least valuable queries must come last. */
function maybeCut({ kind, budget }: Pick<NotAskedOrder, 'kind' | 'budget'>): boolean {
  return kind === 'nightly' || typeof budget === 'number'
}

/**
 * The last answer of each query, and whether the query is due according to its list and cadence. Queries rest only in
 * nightly runs.
 */
export function notAskedOf(list: number, order: NotAskedOrder): NotAsked {
  if (!maybeCut(order)) return asked
  const { kind, runDate } = order
  const judged = order.wished || order.adaptive
  if (!judged) return { ...asked, joins: lastTime(order), answered: sql`last.fetched_at` }
  // A typed interval takes precedence over one derived from the history.
  const due = sql`case
      when lines.every_days is not null then last.run_date + lines.every_days
      when cadence.by_chance
        or last.fetched_at < now() - lines.max_age_ms * interval '1 millisecond' then null
      else cadence.due_on
    end`
  const night = kind === 'nightly'
  return {
    joins: sql`${cadenceOf(list, night && order.adaptive)} ${lastAnswer(order)}`,
    standIn: sql`last.id`,
    rests: night
      ? sql<boolean>`coalesce(last.id is not null and ${due} > ${runDate}::date, false)`
      : asked.rests,
    answered: sql`last.fetched_at`,
    overdue: sql<boolean>`case
        when coalesce(lines.every_days, lines.max_age_ms, cadence.interval_days) is null then false
        when last.id is null then true
        else coalesce(last.run_date + 2 * coalesce(lines.every_days, cadence.interval_days) < ${runDate}::date, false)
          or coalesce(last.fetched_at < now() - 2 * lines.max_age_ms * interval '1 millisecond', false)
      end`,
  }
}

function cadenceOf(list: number, adaptive: boolean) {
  return adaptive
    ? sql`left join cadences as cadence on cadence.list_id = ${list} and cadence.query_id = lines.id`
    : sql`cross join (select null::date as due_on, null::boolean as by_chance, null::integer as interval_days) as cadence`
}

/** Time of each query's last answer, read from the index on answers alone. */
function lastTime({ origin, api }: NotAskedOrder) {
  return sql`
    left join lateral (
      select searches.fetched_at
      from searches
      where searches.query_id = lines.id
        and searches.origin = ${origin}
        and searches.api = ${api}
      order by searches.fetched_at desc
      limit 1
    ) as last on not known.already`
}

/**
 * Last readable answer and the day it was bought for. Skips answers of suspect nights, and answers dated later than
 * this day because of a fast clock.
 */
function lastAnswer({ origin, api, runDate }: NotAskedOrder) {
  return sql`
    left join lateral (
      select searches.id, searches.fetched_at, runs.run_date
      from searches
      join tasks on tasks.id = searches.task_id
      join runs on runs.id = tasks.run_id
      where searches.query_id = lines.id
        and searches.origin = ${origin}
        and searches.api = ${api}
        and searches.parse_error is null
        and not runs.suspect
        and not exists (select from quarantine where quarantine.search_id = searches.id)
        and runs.run_date <= ${runDate}::date
      order by searches.fetched_at desc, searches.id desc
      limit 1
    ) as last on not known.already`
}

/**
 * Counts contradictory settings: queries with an interval shorter than their maximum answer age. Their answers are
 * reused until they exceed that age.
 */
export async function countUnusedIntervals(
  trx: Transaction<DB>,
  { wished, kind, maxAgeMs }: Pick<NotAskedOrder, 'wished' | 'kind' | 'maxAgeMs'>,
): Promise<number> {
  if (!wished) return 0
  // For a manual run, the nightly maximum age of lines without one is still unknown.
  const usual = kind === 'nightly' ? maxAgeMs : 0
  const { rows } = await sql<{ idle: number }>`
    select count(*) as idle
    from pg_temp.merged
    where every_days * 86400000::bigint <= coalesce(max_age_ms, ${usual}::bigint)`.execute(trx)
  return only(rows).idle
}

/** Finds or inserts a list by name; stores its source and reading options for next time. */
export async function storeList(
  trx: Transaction<DB>,
  { list, source, reading }: Pick<PlanOrder, 'list' | 'source' | 'reading'>,
): Promise<number> {
  const agreed = reading === null || reading === undefined ? null : JSON.stringify(reading)
  await trx
    .insertInto('lists')
    .values({ name: list, source: source ?? '', reading: agreed })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const change = {
    ...(source === null ? {} : { source }),
    ...(reading === undefined ? {} : { reading: agreed }),
  }
  if (Object.keys(change).length > 0) {
    await trx.updateTable('lists').set(change).where('name', '=', list).execute()
  }
  const { id } = await trx
    .selectFrom('lists')
    .select('id')
    .where('name', '=', list)
    .executeTakeFirstOrThrow()
  return id
}

/** Exports of several sites may have the same name; they are merged into one list only on request. */
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
    `expected a name that is free for ${source}, got ${JSON.stringify(list)}, the list of ${known.source}; type --as ${JSON.stringify(name)} for a list of its own, or --join to read both into one`,
  )
}

/** Reads a list by name; undefined if it is new. */
export async function knownList(
  db: Kysely<DB>,
  name: string,
): Promise<
  { readonly id: number; readonly source: string; readonly reading: unknown } | undefined
> {
  return db
    .selectFrom('lists')
    .select(['id', 'source', 'reading'])
    .where('name', '=', name)
    .executeTakeFirst()
}
