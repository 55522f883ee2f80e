-- Number of planned and answered queries in each set of labels on each day, computed from the answers.
create or replace view analysis.live_labels as
select run_date, analysis.set_id(labels) as set_id, labels, queries, weight, planned, planned_weight
from (
  select
    query_days.run_date,
    query_days.slices collate "C" as labels,
    count(observations.query_id) as queries,
    coalesce(sum(query_days.weight) filter (where observations.query_id is not null), 0) as weight,
    count(*) as planned,
    sum(query_days.weight) as planned_weight
  from analysis.query_days
  left join analysis.observations using (query_id, run_date)
  where query_days.run_date not in (select away_days.run_date from analysis.away_days)
  group by query_days.run_date, query_days.slices collate "C"
) as sets
where case when (select analysis.slice() is not null) then analysis.holds(labels)::integer else 1 end <> 0;
comment on view analysis.live_labels is 'Number of queries in each set of labels that were planned and answered on each day, computed from the answers. analysis.label_sets returns the same rows, but reads stored sums for finished days.';
comment on column analysis.live_labels.set_id is 'Id of the label set, as computed by analysis.set_id.';
comment on column analysis.live_labels.labels is 'Labels in the set.';
comment on column analysis.live_labels.queries is 'Number of queries in the set with an observation on the run date.';
comment on column analysis.live_labels.weight is 'Sum of the weights of the queries with an observation.';
comment on column analysis.live_labels.planned is 'Number of queries in the set that were planned.';
comment on column analysis.live_labels.planned_weight is 'Sum of the weights of the planned queries.';
