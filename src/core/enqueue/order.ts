// What is bought first when money is short: priorities, shares of labels, rests.

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

/** A list to be planned, and the run that it is for. */
export interface PlanOrder {
  readonly list: string
  /** Null: as it was. */
  readonly source: string | null
  /** Typed flags of reading, kept for the next night; undefined: as they were. */
  readonly reading: object | null | undefined
  /** True: the list may have been read from another source before. */
  readonly join: boolean
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  /** Most credits that the run may use in all; a night's: from now on. None leaves a run that is joined as it is. */
  readonly budget: number | null | undefined
  readonly maxAgeMs: number
  /** True: a query also rests when its row in the table of cadences says so. */
  readonly adaptive: boolean
  /** The part of a night's credits that the list is given, from 0 to 1, for when money is short; null: lists have no parts. */
  readonly part: number | null
  /** Labels that are given a share of the credits, for when money is short; the first that a query holds is its own. */
  readonly shares: readonly TaggedShare[]
  /** Expected cost of a call of each known class. */
  readonly prices: readonly { readonly class: string; readonly credits: number }[]
  /** An answer is reused only for the same origin and API. */
  readonly origin: Origin
  readonly api: string
  /** A run to add to, whatever its kind; null: the open manual run of the list, or a new one. */
  readonly into: number | null
  /** For open queries of a joined run that the list no longer holds. */
  readonly ifRemoved: 'ask' | 'drop' | 'keep'
  /** Lines of the file that gave queries. */
  readonly usable: number
  /** True when every usable line gave exactly one query. */
  readonly single: boolean
  /** True when no line says more about its query than a priority and a weight. */
  readonly plain: boolean
  /** True when a line says how often its query is asked, or how old its answer may be. */
  readonly wished: boolean
  /** Parameters that prices depend on; null when queries differ in them. */
  readonly request: { readonly num: number; readonly device: string | null } | null
}

/** Open queries of a run that its list no longer holds, by what their price depends on. */
export interface RemovedQueries {
  readonly queries: number
  readonly examples: readonly string[]
  readonly byPrice: Planned['toBuy']
}

/** A planned run with its counts. */
export interface Planned {
  readonly run: number
  /** True when an open run was added to. */
  readonly joined: boolean
  readonly rows: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly tasks: number
  readonly queued: number
  readonly reused: number
  /** Queries that the list, or its cadence, lets rest: their last answers stand in. */
  readonly notAsked: number
  /** Queries that are to be asked again before their last answer is too old to be used. */
  readonly idleWishes: number
  /** Of the reused, those whose answer cannot be read. */
  readonly unreadable: number
  /** Labels with a share of the credits, and how many of the queries to be bought are theirs. */
  readonly shares: readonly (TaggedShare & { readonly queued: number })[]
  readonly already: number
  /** Open queries of the joined run that the list no longer holds. */
  readonly removed: RemovedQueries
  /** Of these, the cancelled ones. */
  readonly dropped: number
  /** Of a run that was joined: credits used and set aside, and tasks still to be bought, before anything was added. */
  readonly before: { readonly spent: number; readonly open: number }
  readonly done: boolean
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[]
  /** Tasks to be bought, by the parameters that prices depend on. */
  readonly toBuy: readonly {
    readonly num: number
    readonly device: string | null
    readonly tasks: number
  }[]
}

type ShareOrder = Pick<PlanOrder, 'part' | 'shares' | 'prices'>

/** Adds to a merged line the first of its labels that has a share, and the price of its call. */
export function shareColumns({ part, shares, prices }: ShareOrder): {
  readonly merged: RawBuilder<unknown>
  readonly shown: RawBuilder<unknown>
} {
  if (shares.length === 0 && part === null) return { merged: sql``, shown: sql`` }
  // A class that nobody has paid for yet may cost as much as the dearest one.
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
 * The merged lines that are to be bought, each with its turn: the credits of its label up to it, by the share of its
 * label. Bought in the order of their turns, each label has its share of the credits wherever money ends, but for one
 * call, as long as it has queries; what it does not use goes to the others by their shares.
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
  // Of the whole, for what has no label with a share: a rounding is no share.
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

/** Counts the queries to be bought of each label with a share. */
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
 * Gives new slices of a run their turns among those of other lists: what is expected to be spent up to the end of each,
 * by the part of its list. Handed out in the order of their turns, each list has its part of the credits wherever money
 * ends, but for the slices at work, as long as it has queries; what it does not use goes to the others by their parts.
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

/** The parts of an order that decide which queries rest and which are bought first. */
export type RestOrder = Pick<
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

/** Parts of the statement that merges lines, about earlier answers. */
interface Rests {
  /** Joins that follow the lines of the list: `cadence` and `last`. */
  readonly joins: RawBuilder<unknown>
  /** The answer that stands in for a query that this run does not ask. */
  readonly standIn: RawBuilder<unknown>
  /** True for a query that this run does not ask. */
  readonly rests: RawBuilder<boolean>
  /** When it was answered last, for the order in which queries are bought. */
  readonly answered: RawBuilder<unknown>
  /** True for a query that has waited longer than twice what its list or its cadence allows. */
  readonly overdue: RawBuilder<boolean>
}

const asked: Rests = {
  joins: sql``,
  standIn: sql`null::bigint`,
  rests: sql<boolean>`false`,
  answered: sql`null::timestamptz`,
  overdue: sql<boolean>`false`,
}

/** True for a plan whose end may be cut off: what is left over is to be worth least. */
function maybeCut({ kind, budget }: Pick<RestOrder, 'kind' | 'budget'>): boolean {
  return kind === 'nightly' || typeof budget === 'number'
}

/** The last answer of each query, and what the list and its cadence make of it. Only nights let queries rest. */
export function restsOf(list: number, order: RestOrder): Rests {
  if (!maybeCut(order)) return asked
  const { kind, runDate } = order
  const judged = order.wished || order.adaptive
  if (!judged) return { ...asked, joins: lastTime(order), answered: sql`last.fetched_at` }
  // A person's wish wins over what was decided from the history.
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

/** When each query was asked last, by the index on answers alone. */
function lastTime({ origin, api }: RestOrder) {
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
 * The last readable answer with the day that it was bought for. One of a suspect night stands for nothing, and one of a
 * later day than this, from a clock that was ahead, was not there yet.
 */
function lastAnswer({ origin, api, runDate }: RestOrder) {
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
 * Wishes that contradict each other: queries that are to be asked again before their last answer is too old to be used.
 * Such an answer is used until then: nobody buys more often than nights and ages allow.
 */
export async function countIdleWishes(
  trx: Transaction<DB>,
  { wished, kind, maxAgeMs }: Pick<RestOrder, 'wished' | 'kind' | 'maxAgeMs'>,
): Promise<number> {
  if (!wished) return 0
  // By hand nobody knows yet what age a night takes where the line says none.
  const usual = kind === 'nightly' ? maxAgeMs : 0
  const { rows } = await sql<{ idle: number }>`
    select count(*) as idle
    from pg_temp.merged
    where every_days * 86400000::bigint <= coalesce(max_age_ms, ${usual}::bigint)`.execute(trx)
  return only(rows).idle
}

/** The list of a name, made if there is none; its source and how it is read are kept for the next time. */
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

/** Exports of several sites bear one name: two of them become one list only when that is meant. */
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

/** Reads the list of a name; undefined for a new one. */
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
