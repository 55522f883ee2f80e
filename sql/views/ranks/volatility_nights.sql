-- Volatility of each night, compared with the thirty nights before it, and the pages that entered and left the top 10.
create or replace view analysis.volatility_nights as
select
  run_date,
  queries,
  volatility,
  avg(volatility) over before as usual,
  -- The standard deviation of fewer than fourteen nights is not meaningful. Fourteen nights include
  -- each day of the week twice.
  case when count(*) over before >= 14
    then (volatility - avg(volatility) over before) / nullif(stddev_samp(volatility) over before, 0)
  end as z,
  count(*) over before as nights,
  entered,
  left_top_10,
  stayed
from (
  select
    run_date, count(*) as queries, avg(volatility) as volatility, sum(entered)::bigint as entered,
    sum(left_top_10)::bigint as left_top_10, sum(stayed)::bigint as stayed
  from analysis.step_days
  where volatility is not null
  group by run_date
) as nightly
-- Compares each night only with earlier nights.
window before as (order by run_date rows between 30 preceding and 1 preceding);
comment on view analysis.volatility_nights is 'Mean volatility of each night, compared with the thirty nights before it.';
comment on column analysis.volatility_nights.queries is 'Number of queries that could be compared with their previous answer.';
comment on column analysis.volatility_nights.volatility is 'Mean volatility of the compared queries, from 0 to 1.';
comment on column analysis.volatility_nights.usual is 'Mean volatility of up to thirty earlier nights.';
comment on column analysis.volatility_nights.z is 'Difference from the usual volatility, in standard deviations of the earlier nights; 2 or more counts as a spike. Null if there are fewer than fourteen earlier nights.';
comment on column analysis.volatility_nights.nights is 'Number of earlier nights used for the comparison.';
comment on column analysis.volatility_nights.entered is 'Number of pages that entered the top 10.';
comment on column analysis.volatility_nights.left_top_10 is 'Number of pages that left the top 10.';
comment on column analysis.volatility_nights.stayed is 'Number of pages that are in the top 10 of both answers.';
