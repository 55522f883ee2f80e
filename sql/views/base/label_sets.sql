-- Number of queries planned and answered on each day, for each set of labels. Finished days have stored sums.
create or replace view analysis.label_sets as
select
  finished_days.run_date,
  kept.set_id,
  kept.labels,
  kept.queries,
  kept.weight,
  kept.planned,
  kept.planned_weight
from finished_days
join finished_labels as kept on kept.finish_id = finished_days.id
where finished_days.made_at is not null
  and finished_days.basis = (select analysis.basis())
  and case when (select analysis.slice() is not null)
    then (kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))::integer
    else 1
  end <> 0
union all
-- Reads each day separately. A single query would be planned for all days, even if few are needed.
select
  unfinished_days.run_date, found.set_id, found.labels collate "C", found.queries, found.weight, found.planned, found.planned_weight
from analysis.unfinished_days
cross join lateral analysis.labels_on(unfinished_days.run_date) as found
where (select analysis.basis() is not null)
union all
select live.run_date, live.set_id, live.labels, live.queries, live.weight, live.planned, live.planned_weight
from analysis.live_labels as live
where (select analysis.basis() is null);
comment on view analysis.label_sets is 'Number of queries planned and answered on each day, for each set of labels. Each query is in exactly one set, so a sum over several sets counts each query only once.';
comment on column analysis.label_sets.set_id is 'Id of the label set, as computed by analysis.set_id.';
comment on column analysis.label_sets.labels is 'Labels in the set, including those for device, country, language, place and list.';
comment on column analysis.label_sets.queries is 'Number of queries in the set with an observation on the run date.';
comment on column analysis.label_sets.weight is 'Sum of the weights of the queries with an observation.';
comment on column analysis.label_sets.planned is 'Number of queries in the set that were planned.';
comment on column analysis.label_sets.planned_weight is 'Sum of the weights of the planned queries.';
