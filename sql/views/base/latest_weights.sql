-- Current weight of each query in the lists.
create or replace view analysis.latest_weights as
select
  list_queries.query_id,
  max(coalesce(list_queries.weight, 1)) as weight,
  count(*) as lists
from list_queries
-- A query that was missing when its list was last read is no longer in the list.
join (
  select list_id, max(last_seen) as last_seen
  from list_queries
  group by list_id
) as readings using (list_id, last_seen)
group by list_queries.query_id;
comment on view analysis.latest_weights is 'Current weight of each query: the highest weight in any list that contains it.';
comment on column analysis.latest_weights.weight is 'Highest weight of the query. If a list sets no weight for the query, a weight of 1 is used.';
comment on column analysis.latest_weights.lists is 'Number of lists that contain the query.';
