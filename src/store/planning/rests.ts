import { sql, type RawBuilder, type Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import type { PlanOrder } from './order.ts'
import { only } from '../statement.ts'

/** What decides which queries of a plan rest, and which of them are bought first. */
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

/** How the queries of a plan are looked up, and what comes of it; made of nothing where nobody asks. */
export interface Rests {
  /** Joins that follow the lines of the list: `cadence` and `last`. */
  readonly joins: RawBuilder<unknown>
  /** The answer that stands in for a query that this run does not ask. */
  readonly standIn: RawBuilder<unknown>
  /** True for a query that this run does not ask. */
  readonly rests: RawBuilder<boolean>
  /** True for one of these that is lent the answer of another query. */
  readonly lent: RawBuilder<boolean>
  /** When it was answered last, for the order in which queries are bought. */
  readonly answered: RawBuilder<unknown>
  /** True for a query that has waited longer than twice what its list or its cadence allows. */
  readonly overdue: RawBuilder<boolean>
}

const asked: Rests = {
  joins: sql``,
  standIn: sql`null::bigint`,
  rests: sql<boolean>`false`,
  lent: sql<boolean>`false`,
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
    lent: sql<boolean>`lines.every_days is null and cadence.lent_by is not null`,
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
    : sql`cross join (select null::date as due_on, null::boolean as by_chance, null::integer as interval_days, null::uuid as lent_by) as cadence`
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
