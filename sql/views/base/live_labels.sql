-- How many queries of each set of labels were asked and answered on each day, from the answers themselves.
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
comment on view analysis.live_labels is 'How many queries of each set of labels were asked and answered on each day, worked out from the answers: analysis.label_sets says the same, and reads what is kept of finished days.';
comment on column analysis.live_labels.set_id is 'Number of the set of labels.';
comment on column analysis.live_labels.labels is 'The labels.';
comment on column analysis.live_labels.queries is 'Queries of the set with an observation that day.';
comment on column analysis.live_labels.weight is 'Sum of their weights.';
comment on column analysis.live_labels.planned is 'Queries of the set that were to be asked.';
comment on column analysis.live_labels.planned_weight is 'Sum of their weights.';
