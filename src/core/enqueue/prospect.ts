import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

/** Whose balance, and answers of which making. */
export interface Buyer {
  readonly account: string
  readonly origin: string
  readonly api: string
}

/** Queries that the same lists hold and that were answered in the same minute. */
export interface ListedGroup {
  readonly lists: readonly number[]
  readonly num: number
  readonly device: string | null
  readonly queries: number
  readonly answered_at: Date | null
  /** The day that they were bought for; null as well where no list says when they are asked again. */
  readonly answered_on: string | null
  /** What lists and cadences say about when they are asked again; null: nothing. */
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

/** What a list or its cadence says about when a query is asked again; null: nothing. */
const askedAgain = sql`case
  when coalesce(list_queries.every_days, list_queries.max_age_ms, cadences.interval_days) is not null
    then jsonb_build_object(
      'list', list_queries.list_id, 'everyDays', list_queries.every_days, 'maxAgeMs', list_queries.max_age_ms,
      'dueOn', cadences.due_on, 'intervalDays', cadences.interval_days
    )
end`

/** The day that the newest answer was bought for. */
const boughtOn = sql`
  select runs.run_date
  from tasks
  join runs on runs.id = tasks.run_id
  where tasks.id = newest.task_id`

/** The queries of all lists that a schedule buys, as the lists were read last. */
export async function readGroups(
  db: Database,
  { origin, api }: Buyer,
): Promise<readonly ListedGroup[]> {
  const { rows } = await sql<ListedGroup>`
    with held as (
      select
        members.query_id, jsonb_agg(members.list_id order by members.list_id) as lists,
        jsonb_agg(members.wish order by members.list_id) filter (where members.wish is not null) as wishes
      from (
        select
          list_queries.list_id, list_queries.query_id,
          ${askedAgain} as wish,
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

/** Open tasks of a run that cost the same. */
export interface OpenTasks {
  readonly run: number
  readonly list: string
  readonly month: string
  readonly left: number | null
  readonly num: number
  readonly device: string | null
  readonly tasks: number
}

/** What is still to be bought, the most urgent run first. */
export async function readOpenTasks(db: Database): Promise<readonly OpenTasks[]> {
  const { rows } = await sql<OpenTasks>`
    select
      runs.id as run, lists.name as list, to_char(runs.run_date, 'YYYY-MM') as month,
      case when runs.budget is not null then greatest(0, runs.budget - runs.spent - runs.reserved) end as left,
      queries.num, queries.device, count(*) as tasks
    from runs
    join lists on lists.id = runs.list_id
    join tasks on tasks.run_id = runs.id and tasks.state = 'open'
    join queries on queries.id = tasks.query_id
    where runs.state in ('planning', 'open')
      -- A call that is on its way is paid from what is set aside.
      and not exists (select from calls where calls.task_id = tasks.id and calls.outcome is null)
    group by runs.id, lists.name, queries.num, queries.device
    order by min(tasks.priority), runs.id`.execute(db)
  return rows
}

/** A schedule that is on, with the list that it buys. */
export interface ComingSchedule {
  readonly name: string
  readonly list: number
  readonly list_name: string
  readonly cron: string
  readonly zone: string
  readonly missed: string
  readonly max_age_ms: number | null
  readonly budget: number | null
  /** Null: it asks every query each night. */
  readonly adaptive_days: number | null
  readonly priority: number | null
  readonly part: number | null
}

/** Schedules that are on, as a scheduler last read them. */
export async function readComing(db: Database): Promise<readonly ComingSchedule[]> {
  const { rows } = await sql<ComingSchedule>`
    select
      schedules.name, lists.id as list, lists.name as list_name, schedules.cron, schedules.zone, schedules.missed,
      schedules.max_age_ms, schedules.budget, schedules.adaptive_days, schedules.priority, schedules.part
    from schedules
    join lists on lists.name = schedules.list
    where schedules.enabled
    order by schedules.name`.execute(db)
  return rows
}
