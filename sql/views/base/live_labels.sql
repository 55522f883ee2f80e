-- How many queries of each label were asked and answered on each day, from the answers themselves.
create or replace view analysis.live_labels as
select
  query_tags.run_date,
  query_tags.tag,
  count(observations.query_id) as queries,
  coalesce(sum(query_tags.weight) filter (where observations.query_id is not null), 0) as weight,
  count(*) as planned,
  sum(query_tags.weight) as planned_weight
from analysis.query_tags
left join analysis.observations using (query_id, run_date)
where query_tags.run_date not in (select away_days.run_date from analysis.away_days)
  and case when (select analysis.slice() is not null)
    then case when (select analysis.slices_at_once())
      then ((query_id, run_date) in (select sliced.query_id, sliced.run_date from analysis.sliced_days() as sliced))::integer
      else analysis.in_slice(query_id, run_date)::integer
    end
    else 1
  end <> 0
group by query_tags.run_date, query_tags.tag;
comment on view analysis.live_labels is 'How many queries of each label were asked and answered on each day, worked out from the answers: analysis.label_days says the same, and reads what is kept of finished days.';
comment on column analysis.live_labels.queries is 'Queries of the label with an observation that day.';
comment on column analysis.live_labels.weight is 'Sum of their weights.';
comment on column analysis.live_labels.planned is 'Queries of the label that were to be asked.';
comment on column analysis.live_labels.planned_weight is 'Sum of their weights.';
