-- Which share of the clicks does each place get, by the curve that all shares and estimates use?
-- unsliced: a curve belongs to no query
select
  coalesce(nullif(current_setting('querymill.ctr_curve', true), ''), 'default') as curve,
  position,
  ctr
from analysis.ctr
order by position;
