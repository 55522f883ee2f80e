// Reads how an account's credits were spent, for reports.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { floorInForce, shownBalance } from './standstill.ts'

/** An inclusive range of days in a time zone. */
export interface ZonedSpan {
  readonly since: string
  readonly until: string
  readonly zone: string
}

/** An account with its spending and its credit floor. If no worker is alive, the last worker's floor applies. */
export type AccountSpending = Awaited<ReturnType<typeof readAccountSpending>>[number]

/** Credits spent on a list or a price class. */
export interface SpentRow {
  readonly by: 'list' | 'class'
  readonly name: string
  readonly calls: number
  readonly credits: number
  readonly answers: number
  readonly lost: number
  /** Credits held for calls with an unknown outcome, which may have been charged. */
  readonly perhaps: number
  readonly dearest: number | null
}

export function readAccountSpending(db: Database, span: ZonedSpan) {
  return db
    .selectFrom('accounts as a')
    .select((eb) => [
      'a.id',
      'a.name as account',
      'a.kind as origin',
      'a.obs_at as observed_at',
      shownBalance.as('remaining'),
      eb.fn
        .coalesce(
          floorInForce,
          eb
            .selectFrom('workers')
            .select('workers.floor')
            .whereRef('workers.account_id', '=', 'a.id')
            .orderBy('workers.id', 'desc')
            .limit(1),
        )
        .as('floor'),
      eb
        .selectFrom('calls as c')
        .select(({ fn }) => fn.coalesce(fn.sum<number>('c.credits_used'), sql.lit(0)).as('sum'))
        .whereRef('c.account_id', '=', 'a.id')
        .where(within(span))
        .$asScalar()
        .$notNull()
        .as('used'),
    ])
    .orderBy('a.obs_at', (order) => order.desc().nullsLast())
    .orderBy('a.id')
    .execute()
}

/** Reads the balances reported in a span, with at most 200 points per account. */
export function readBalancePoints(db: Database, span: ZonedSpan) {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom('calls as c')
        .select(({ fn }) => [
          'c.account_id',
          'c.finished_at',
          'c.credits_remaining',
          fn
            .agg<number>('ntile', [sql.lit(200)])
            .over((over) => over.partitionBy('c.account_id').orderBy('c.finished_at'))
            .as('stretch'),
        ])
        .where('c.credits_remaining', 'is not', null)
        .where(within(span))
        .as('told'),
    )
    .select(({ fn }) => [
      'account_id',
      fn.max('finished_at').$castTo<Date>().as('at'),
      fn.min('credits_remaining').$castTo<number>().as('remaining'),
    ])
    .groupBy(['account_id', 'stretch'])
    .orderBy('account_id')
    .orderBy('at')
    .execute()
}

/** Reads the credits used in a period, by list and by price class, highest first. */
export async function readCosts(db: Database, span: ZonedSpan): Promise<readonly SpentRow[]> {
  // Calls are read once for both groupings, because a span may cover a year of calls.
  const { rows } = await sql<SpentRow>`
    select
      case when grouping(l.name) = 0 then 'list' else 'class' end as by,
      coalesce(l.name, spent.class) as name,
      sum(spent.calls)::bigint as calls,
      coalesce(sum(spent.credits), 0)::bigint as credits,
      sum(spent.answers)::bigint as answers,
      coalesce(sum(spent.lost), 0)::bigint as lost,
      coalesce(sum(spent.perhaps), 0)::bigint as perhaps,
      max(spent.dearest) as dearest
    from (
      select
        t.run_id,
        c.class,
        count(*) as calls,
        sum(c.credits_used) as credits,
        count(*) filter (where s.id is not null and s.parse_error is null) as answers,
        sum(c.credits_used) filter (where s.id is null or s.parse_error is not null) as lost,
        sum(c.credits_reserved) filter (where c.outcome = 'unknown') as perhaps,
        max(c.credits_used) as dearest
      from calls c
      join tasks t on t.id = c.task_id
      left join searches s on s.call_id = c.id
      where c.outcome in ('settled', 'unknown') and ${within(span)}
      group by t.run_id, c.class
    ) spent
    join runs r on r.id = spent.run_id
    join lists l on l.id = r.list_id
    group by grouping sets ((l.name), (spent.class))
    order by credits desc, name
    limit 100`.execute(db)
  return rows
}

function within({ since, until, zone }: ZonedSpan) {
  return sql<boolean>`c.finished_at >= ${since}::date::timestamp at time zone ${zone}::text
    and c.finished_at < (${until}::date + 1)::timestamp at time zone ${zone}::text`
}
