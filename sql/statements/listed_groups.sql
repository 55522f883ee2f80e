-- Reads the queries in all scheduled lists, grouped by list, interval, price class and time of the newest answer.
with held as (
  select
    members.query_id, jsonb_agg(members.list_id order by members.list_id) as lists,
    jsonb_agg(members.wish order by members.list_id) filter (where members.wish is not null) as wishes
  from (
    select
      list_queries.list_id, list_queries.query_id,
      case
        when coalesce(list_queries.every_days, list_queries.max_age_ms, cadences.interval_days) is not null
          then jsonb_build_object(
            'list', list_queries.list_id, 'everyDays', list_queries.every_days, 'maxAgeMs', list_queries.max_age_ms,
            'dueOn', cadences.due_on, 'intervalDays', cadences.interval_days
          )
      end as wish,
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
  held.lists, held.wishes, queries.num, queries.device, count(*) as queries,
  extract(epoch from newest.answered_at)::float8 * 1000 as "answeredAt",
  bought.run_date as "answeredOn"
from held
join queries on queries.id = held.query_id
left join lateral (
  select date_trunc('minute', searches.fetched_at) as answered_at, searches.task_id
  from searches
  where searches.query_id = held.query_id
    and searches.origin = :origin
    and searches.api = :api
    and not exists (select from quarantine where quarantine.search_id = searches.id)
  order by searches.fetched_at desc
  limit 1
) as newest on true
left join lateral (
  select runs.run_date
  from tasks
  join runs on runs.id = tasks.run_id
  where tasks.id = newest.task_id
) as bought on held.wishes is not null
group by held.lists, held.wishes, queries.num, queries.device, newest.answered_at, bought.run_date
