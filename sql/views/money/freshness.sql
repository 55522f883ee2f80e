-- How old the newest answers of each list are now.
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
  or list_queries.query_id in (select query_id from analysis.query_labels where analysis.holds(labels))
group by lists.name;
comment on view analysis.freshness is 'How old the newest readable answers to the queries of each list are at this moment.';
comment on column analysis.freshness.queries is 'Queries that the list holds, as it was read last.';
comment on column analysis.freshness.answered is 'Of these, queries with a readable answer, of the chosen origins.';
comment on column analysis.freshness.never_answered is 'Queries without one.';
comment on column analysis.freshness.newest is 'When the newest answer was received.';
comment on column analysis.freshness.oldest is 'When the oldest of the newest answers was received.';
comment on column analysis.freshness.youngest_age is 'Age of the newest answer.';
comment on column analysis.freshness.median_age is 'Half of the answers are younger than this.';
comment on column analysis.freshness.oldest_age is 'Age of the oldest of the newest answers.';
