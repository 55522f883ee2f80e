-- Current age of each list's newest answers.
create or replace view analysis.freshness as
select
  lists.name as list,
  count(*) as queries,
  count(latest.query_id) as answered,
  count(*) - count(latest.query_id) as never_answered,
  max(latest.fetched_at) as newest,
  min(latest.fetched_at) as oldest,
  now() - max(latest.fetched_at) as youngest_age,
  now() - percentile_disc(0.5) within group (order by latest.fetched_at) as median_age,
  now() - min(latest.fetched_at) as oldest_age
from list_queries
join lists on lists.id = list_queries.list_id
join (
  select list_id, max(last_seen) as last_seen
  from list_queries
  group by list_id
) as readings on readings.list_id = list_queries.list_id and readings.last_seen = list_queries.last_seen
left join analysis.latest on latest.query_id = list_queries.query_id
where not (select analysis.slice() is not null)
  or list_queries.query_id in (select query_id from analysis.queries_in_slice())
group by lists.name;
comment on view analysis.freshness is 'Current age of the newest readable answers to the queries in each list.';
comment on column analysis.freshness.queries is 'Number of queries in the list when it was last read.';
comment on column analysis.freshness.answered is 'Number of queries in the list with a readable answer from the selected origins.';
comment on column analysis.freshness.never_answered is 'Number of queries in the list without a readable answer from the selected origins.';
comment on column analysis.freshness.newest is 'Time at which the newest answer was received.';
comment on column analysis.freshness.oldest is 'Time at which the least recently answered query was last answered.';
comment on column analysis.freshness.youngest_age is 'Age of the newest answer.';
comment on column analysis.freshness.median_age is 'Median age of the newest answers to the queries.';
comment on column analysis.freshness.oldest_age is 'Maximum age of the newest answers to the queries.';
