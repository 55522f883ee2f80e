-- Click curve in use.
create or replace view analysis.ctr as
select position, ctr
from ctr_curve
where curve = coalesce(nullif(current_setting('querymill.ctr_curve', true), ''), 'default');
comment on view analysis.ctr is 'Share of clicks for each position, according to the current click curve. The curve is "default", unless the querymill.ctr_curve setting names another curve.';
comment on column analysis.ctr.position is 'Position of a result.';
comment on column analysis.ctr.ctr is 'Share of clicks at this position, from 0 to 1.';
