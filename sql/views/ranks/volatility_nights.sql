-- How restless each night was, against the thirty nights before it.
create or replace view analysis.volatility_nights as
select
  run_date,
  queries,
  volatility,
  avg(volatility) over before as usual,
  -- A handful of nights has a spread of its own that says nothing: two weeks hold each day of the week twice.
  case when count(*) over before >= 14
    then (volatility - avg(volatility) over before) / nullif(stddev_samp(volatility) over before, 0)
  end as z,
  count(*) over before as nights
from (
  select run_date, count(*) as queries, avg(volatility) as volatility
  from analysis.volatility
  group by run_date
) as nightly
-- The night itself stays outside, or a great change would hide behind its own size.
window before as (order by run_date rows between 30 preceding and 1 preceding);
comment on view analysis.volatility_nights is 'Mean volatility of each night, and how far it lies from the thirty nights before it.';
comment on column analysis.volatility_nights.queries is 'Queries that could be compared with their answer before.';
comment on column analysis.volatility_nights.volatility is 'Mean over these queries, 0 to 1.';
comment on column analysis.volatility_nights.usual is 'Mean of the up to thirty nights before.';
comment on column analysis.volatility_nights.z is 'Distance from that mean in standard deviations of those nights; 2 and more is a spike; null where fewer than fourteen nights lie before it.';
comment on column analysis.volatility_nights.nights is 'Nights that the comparison rests on.';
