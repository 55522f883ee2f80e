-- Answers whose intent or sentiment has changed since the previous answer.
create or replace view analysis.label_changes as
select
  steps.query_id,
  queries.q,
  steps.run_date,
  labels.kind,
  labels.previous_label,
  labels.label,
  steps.previous_run_date,
  steps.fetched_at
from analysis.step_days as steps
join queries on queries.id = steps.query_id
-- Answers are looked up one at a time, because far fewer answers changed than the planner expects.
cross join lateral (
  select searches.intent, searches.sentiment
  from searches
  where searches.id = steps.search_id
  offset 0
) as now
cross join lateral (
  select searches.intent, searches.sentiment
  from searches
  where searches.id = steps.previous_search_id
  offset 0
) as before
cross join lateral (
  values
    ('intent', before.intent, now.intent),
    ('sentiment', before.sentiment, now.sentiment)
) as labels (kind, previous_label, label)
where steps.relabelled is distinct from false
  and labels.label is distinct from labels.previous_label;
comment on view analysis.label_changes is 'Answers whose intent or sentiment has changed since the previous answer.';
comment on column analysis.label_changes.kind is 'Kind of label: intent or sentiment.';
comment on column analysis.label_changes.previous_label is 'Label of the previous answer.';
comment on column analysis.label_changes.label is 'Label of the answer.';
