-- How much each answer differs from the one before, from 0 (the same) to 1 (nothing stayed).
create or replace view analysis.volatility as
select
  compared.query_id,
  queries.q,
  compared.run_date,
  compared.previous_run_date,
  compared.volatility,
  compared.compared_depth::bigint as compared_depth,
  compared.search_id,
  compared.previous_search_id,
  compared.fetched_at
from analysis.step_days as compared
left join queries on queries.id = compared.query_id
where compared.volatility is not null;
comment on view analysis.volatility is 'How much each answer differs from the one before it: the distances that pages moved, added up, a missing page counting as one place below the last; divided by what a full exchange gives.';
comment on column analysis.volatility.volatility is '0: the same pages at the same places; 1: no page stayed.';
comment on column analysis.volatility.compared_depth is 'Places that are compared: the depth of the shallower answer.';
