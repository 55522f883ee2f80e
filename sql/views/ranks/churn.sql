-- How many pages entered and left the first ten, each night.
create or replace view analysis.churn as
select
  run_date,
  count(*) as queries,
  sum(entered)::bigint as entered,
  sum(left_top_10)::bigint as left_top_10,
  sum(stayed)::bigint as stayed
from analysis.step_days
where volatility is not null
group by run_date;
comment on view analysis.churn is 'How many pages entered and left the first ten results, over all queries of a night; of answers less than ten deep, as many places as both have.';
comment on column analysis.churn.queries is 'Queries that could be compared with their answer before.';
comment on column analysis.churn.entered is 'Pages that entered.';
comment on column analysis.churn.left_top_10 is 'Pages that left.';
comment on column analysis.churn.stayed is 'Pages that are in both.';
