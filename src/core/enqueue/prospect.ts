// Reads, for the forecast, which tasks are still to be bought and which queries become due.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

/** An account, and the source of its answers. */
export interface Buyer {
  readonly account: string
  readonly origin: string
  readonly api: string
}

/** Queries that are on the same lists and were answered in the same minute. */
export interface ListedGroup {
  readonly lists: readonly number[]
  readonly num: number
  readonly device: string | null
  readonly queries: number
  readonly answered_at: Date | null
  /** Day they were bought for; also null if no list specifies when they are due again. */
  readonly answered_on: string | null
  /** Intervals of lists and cadences; null: none. */
  readonly wishes:
    | readonly {
        readonly list: number
        readonly everyDays: number | null
        readonly maxAgeMs: number | null
        readonly dueOn: string | null
        readonly intervalDays: number | null
      }[]
    | null
}

/** Interval of a query from its list or cadence; null: none. */
const askedAgain = sql`case
  when coalesce(list_queries.every_days, list_queries.max_age_ms, cadences.interval_days) is not null
    then jsonb_build_object(
      'list', list_queries.list_id, 'everyDays', list_queries.every_days, 'maxAgeMs', list_queries.max_age_ms,
      'dueOn', cadences.due_on, 'intervalDays', cadences.interval_days
    )
end`

/** Day that the newest answer was bought for. */
const boughtOn = sql`
  select runs.run_date
  from tasks
  join runs on runs.id = tasks.run_id
  where tasks.id = newest.task_id`

/** Queries of all scheduled lists, as last read. */
export async function readGroups(
  db: Database,
  { origin, api }: Buyer,
): Promise<readonly ListedGroup[]> {
  const { rows } = await sql<ListedGroup>`
    with held as (
      select
        members.query_id, jsonb_agg(members.list_id order by members.list_id) as lists,
        jsonb_agg(members.asked order by members.list_id) filter (where members.asked is not null) as wishes
      from (
        select
          list_queries.list_id, list_queries.query_id,
          ${askedAgain} as asked,
          last_seen = max(last_seen) over (partition by list_queries.list_id) as still
        from list_queries
        left join cadences using (list_id, query_id)
        where list_queries.list_id in (
          select lists.id
          from schedules
          join lists on lists.name = schedules.list
          where schedules.enabled
        )
      ) as members
      where members.still
      group by members.query_id
    )
    select
      held.lists, held.wishes, queries.num, queries.device, count(*) as queries, newest.answered_at,
      bought.run_date as answered_on
    from held
    join queries on queries.id = held.query_id
    left join lateral (
      select date_trunc('minute', searches.fetched_at) as answered_at, searches.task_id
      from searches
      where searches.query_id = held.query_id
        and searches.origin = ${origin}
        and searches.api = ${api}
        and not exists (select from quarantine where quarantine.search_id = searches.id)
      order by searches.fetched_at desc
      limit 1
    ) as newest on true
    left join lateral (${boughtOn}) as bought on held.wishes is not null
    group by held.lists, held.wishes, queries.num, queries.device, newest.answered_at, bought.run_date`.execute(
    db,
  )
  return rows
}

/** Open tasks of a run with the same price. */
export type OpenTasks = Awaited<ReturnType<typeof readOpenTasks>>[number]

/** Reads the open tasks, most urgent run first. */
export async function readOpenTasks(db: Database) {
  return (
    db
      .selectFrom('runs')
      .innerJoin('lists', 'lists.id', 'runs.list_id')
      .innerJoin('tasks', 'tasks.run_id', 'runs.id')
      .innerJoin('queries', 'queries.id', 'tasks.query_id')
      .where('tasks.state', '=', 'open')
      .where('runs.state', 'in', ['planning', 'open'])
      // A call in flight is paid from its reservation.
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('calls')
              .whereRef('calls.task_id', '=', 'tasks.id')
              .where('calls.outcome', 'is', null),
          ),
        ),
      )
      .groupBy(['runs.id', 'lists.name', 'queries.num', 'queries.device'])
      .orderBy(({ fn }) => fn.min('tasks.priority'))
      .orderBy('runs.id')
      .select(({ fn }) => [
        'runs.id as run',
        'lists.name as list',
        sql<string>`to_char(runs.run_date, 'YYYY-MM')`.as('month'),
        sql<
          number | null
        >`case when runs.budget is not null then greatest(0, runs.budget - runs.spent - runs.reserved) end`.as(
          'left',
        ),
        'queries.num',
        'queries.device',
        fn.countAll<number>().as('tasks'),
      ])
      .execute()
  )
}

/** An enabled schedule with its list. */
export type ComingSchedule = Awaited<ReturnType<typeof readComing>>[number]

/** Reads the enabled schedules, as last read by a scheduler. */
export async function readComing(db: Database) {
  return db
    .selectFrom('schedules')
    .innerJoin('lists', 'lists.name', 'schedules.list')
    .select(['schedules.name', 'schedules.cron', 'schedules.zone', 'schedules.missed'])
    .select(['schedules.max_age_ms', 'schedules.budget', 'schedules.adaptive_days'])
    .select(['schedules.priority', 'schedules.part'])
    .select(['lists.id as list', 'lists.name as list_name'])
    .where('schedules.enabled', '=', true)
    .orderBy('schedules.name')
    .execute()
}
