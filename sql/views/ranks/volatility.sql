-- Difference between each answer and the previous answer, from 0 (the same) to 1 (nothing in common).
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
comment on view analysis.volatility is 'Difference between each answer and the previous answer. The difference is the sum of the distances that pages moved, divided by the sum that would result if all pages were replaced. A page that is missing from one of the answers is treated as if it were one position below the last compared position.';
comment on column analysis.volatility.volatility is 'Difference from the previous answer, from 0 (the same pages at the same positions) to 1 (every page was replaced).';
comment on column analysis.volatility.compared_depth is 'Number of positions compared: the depth of the shallower answer.';
