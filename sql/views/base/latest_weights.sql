-- What the lists say about each query now.
create or replace view analysis.latest_weights as
select
  list_queries.query_id,
  max(coalesce(list_queries.weight, 1)) as weight,
  count(*) as lists
from list_queries
-- A query that the last reading of its list did not find is not in the list any more.
join (
  select list_id, max(last_seen) as last_seen
  from list_queries
  group by list_id
) as readings using (list_id, last_seen)
group by list_queries.query_id;
comment on view analysis.latest_weights is 'The weight of each query as the lists have it now: the greatest over all lists that hold it.';
comment on column analysis.latest_weights.weight is 'Greatest weight; 1 where no list names one.';
comment on column analysis.latest_weights.lists is 'Lists that hold the query.';
