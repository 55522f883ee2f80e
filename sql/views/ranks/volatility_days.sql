-- How restless the queries of each label were, each day: by device, country, list or a label of one's own.
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
comment on view analysis.volatility_days is 'How much the answers to the queries of each label changed, each day.';
comment on column analysis.volatility_days.queries is 'Queries of the label that could be compared with their answer before.';
comment on column analysis.volatility_days.changed is 'Of these, queries whose answer is another one.';
comment on column analysis.volatility_days.volatility is 'Mean over these queries, 0 to 1.';
comment on column analysis.volatility_days.weighted_volatility is 'The same, by weight.';
comment on column analysis.volatility_days.spread is 'Standard deviation over these queries; null for one alone.';
