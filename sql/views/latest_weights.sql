-- What the lists say about each query now.
create or replace view analysis.latest_weights as
select
  query_id,
  max(coalesce(weight, 1)) as weight,
  count(*) as lists
from list_queries
group by query_id;
comment on view analysis.latest_weights is 'The weight of each query as the lists have it now: the greatest over all lists.';
comment on column analysis.latest_weights.weight is 'Greatest weight; 1 where no list names one.';
comment on column analysis.latest_weights.lists is 'Lists that hold the query.';
