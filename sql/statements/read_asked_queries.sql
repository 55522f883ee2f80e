-- Reads the next queries in a run that have an answer, in order of id, with their labels and target pages. Parameters:
-- :run (bigint), :date (the run date), :after (uuid), :limit.
select
  asked.query_id, queries.q,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
  coalesce(days.slices, '{}') as labels,
  analysis.page_name(said.target_key) as target_page,
  regexp_replace(substring(said.target_key from '^[^/?:]*'), '^www\.(?=.)', '') as target_domain
from (
  select tasks.query_id
  from tasks
  where tasks.run_id = :run
    and tasks.state in ('answered', 'reused')
    and tasks.query_id > :after::uuid
  order by tasks.query_id
  limit :limit
) as asked
join queries on queries.id = asked.query_id
left join lateral (
  select query_days.slices
  from analysis.query_days
  where query_days.run_date = :date::date
    and query_days.query_id = asked.query_id
  offset 0
) as days on true
left join lateral (
  select analysis.url_key(memberships.target_url) as target_key
  from analysis.memberships
  where memberships.run_id = :run
    and memberships.query_id = asked.query_id
  offset 0
) as said on true
order by asked.query_id;
