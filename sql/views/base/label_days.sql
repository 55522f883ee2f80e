-- How many queries of each label were asked and answered on each day: what is kept of finished days, the rest anew.
create or replace view analysis.label_days as
select
  finished_days.run_date,
  kept.tag,
  kept.queries,
  kept.weight,
  kept.planned,
  kept.planned_weight
from finished_days
join finished_labels as kept on kept.finish_id = finished_days.id
where finished_days.made_at is not null
  and finished_days.basis = (select analysis.basis())
union all
-- Day by day: a look at all would be planned for all, however few are left.
select found.run_date, found.tag collate "C", found.queries, found.weight, found.planned, found.planned_weight
from analysis.unfinished_days
cross join lateral analysis.labels_on(unfinished_days.run_date) as found
where (select analysis.basis() is not null)
union all
select live.run_date, live.tag, live.queries, live.weight, live.planned, live.planned_weight
from analysis.live_labels as live
where (select analysis.basis() is null);
comment on view analysis.label_days is 'How many queries of each label were asked and answered on each day.';
comment on column analysis.label_days.queries is 'Queries of the label with an observation that day.';
comment on column analysis.label_days.weight is 'Sum of their weights.';
comment on column analysis.label_days.planned is 'Queries of the label that were to be asked.';
comment on column analysis.label_days.planned_weight is 'Sum of their weights.';
