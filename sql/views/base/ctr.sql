-- The curve of clicks in use.
create or replace view analysis.ctr as
select position, ctr
from ctr_curve
where curve = coalesce(nullif(current_setting('querymill.ctr_curve', true), ''), 'default');
comment on view analysis.ctr is 'Share of clicks that each place gets, by the curve in use: "default", unless the setting querymill.ctr_curve names another.';
comment on column analysis.ctr.position is 'Place.';
comment on column analysis.ctr.ctr is 'Share of clicks, 0 to 1.';
