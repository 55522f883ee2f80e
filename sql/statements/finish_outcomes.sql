-- Stores the outcomes of a day's queries. The day's label sets must already be stored.
insert into finished_outcomes (finish_id, list_id, set_id, outcome, queries, newest, oldest)
select
  :finish::bigint, found.list_id, kept.set_id, found.outcome, count(*), max(found.fetched_at), min(found.fetched_at)
from analysis.outcomes_between(:day::date, :day::date) as found
join finished_queries as kept on kept.finish_id = :finish::bigint and kept.query_id = found.query_id
group by found.list_id, kept.set_id, found.outcome
