-- Volatility for each label (such as a device, country or list) and day.
create or replace view analysis.volatility_days as
select
  volatility.run_date,
  query_tags.tag,
  count(*) as queries,
  count(*) filter (where volatility.volatility > 0) as changed,
  avg(volatility.volatility) as volatility,
  sum(volatility.volatility * query_tags.weight) / nullif(sum(query_tags.weight), 0) as weighted_volatility,
  stddev_samp(volatility.volatility) as spread
from analysis.volatility
join analysis.query_tags using (query_id, run_date)
group by volatility.run_date, query_tags.tag;
comment on view analysis.volatility_days is 'Volatility of the queries with each label on each day.';
comment on column analysis.volatility_days.queries is 'Number of queries with the label that could be compared with their previous answer.';
comment on column analysis.volatility_days.changed is 'Number of compared queries whose answer changed.';
comment on column analysis.volatility_days.volatility is 'Mean volatility of the compared queries, from 0 to 1.';
comment on column analysis.volatility_days.weighted_volatility is 'Mean volatility of the compared queries, from 0 to 1, weighted by query weight.';
comment on column analysis.volatility_days.spread is 'Standard deviation of the volatility of the compared queries; null if there is only one query.';
