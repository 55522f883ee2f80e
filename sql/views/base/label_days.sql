-- Number of queries planned and answered on each day, by label.
create or replace view analysis.label_days as
select
  run_date,
  tag collate "C" as tag,
  sum(queries)::bigint as queries,
  sum(weight) as weight,
  sum(planned)::bigint as planned,
  sum(planned_weight) as planned_weight
from analysis.label_sets
cross join unnest(array_remove(labels, '*') || '*'::text) as tag
group by run_date, tag collate "C";
comment on view analysis.label_days is 'Number of queries planned and answered on each day, by label.';
comment on column analysis.label_days.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.label_days.weight is 'Sum of the weights of the queries with an observation.';
comment on column analysis.label_days.planned is 'Number of planned queries with the label.';
comment on column analysis.label_days.planned_weight is 'Sum of the weights of the planned queries.';
