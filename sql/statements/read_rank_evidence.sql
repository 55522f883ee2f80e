-- Reads the newest answers to the given queries, with one answer per day, oldest first. Includes days up to :date, and
-- later days that were already checked for alerts. Parameters: :queries (uuid[]), :date, :limit (answers per query).
select distinct on (found.query_id, found.run_date)
  found.query_id, found.search_id, found.run_id, found.run_date, found.depth, found.origin, found.api,
  found.features
from unnest(:queries::uuid[]) as asked (query_id)
cross join lateral (
  select
    searches.query_id, searches.id as search_id, searches.fetched_at, runs.id as run_id, runs.run_date,
    coalesce(searches.depth, 0) as depth, searches.origin, searches.api,
    array(
      -- Non-empty blocks that the specification does not define.
      select key
      from jsonb_each(case when jsonb_typeof(searches.extra) = 'object' then searches.extra else '{}' end)
      where value not in ('null', '[]', '{}', '""', 'false')
      order by key
    ) as features
  from searches
  join tasks on tasks.id = searches.task_id
  join runs on runs.id = tasks.run_id
  join night_health as health on health.run_id = runs.id
  where searches.query_id = asked.query_id
    and searches.parse_error is null
    -- The results of archived answers are not in the database.
    and not searches.archived
    and not runs.suspect
    and not exists (select from quarantine where quarantine.search_id = searches.id)
    and runs.state in ('done', 'cancelled')
    and health.judged_at >= runs.finished_at
    and (runs.run_date <= :date::date or health.alerts_at is not null)
  order by searches.fetched_at desc
  limit :limit
) as found
order by found.query_id, found.run_date, found.fetched_at desc, found.search_id desc;
