-- Queries whose intent or sentiment differs from that of the answer before.
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
join searches on searches.id = steps.search_id
join searches as before on before.id = steps.previous_search_id
join queries on queries.id = steps.query_id
cross join lateral (
  values
    ('intent', before.intent, searches.intent),
    ('sentiment', before.sentiment, searches.sentiment)
) as labels (kind, previous_label, label)
where labels.label is distinct from labels.previous_label;
comment on view analysis.label_changes is 'Answers whose intent or sentiment differs from that of the previous answer.';
comment on column analysis.label_changes.kind is 'Kind of label: intent or sentiment.';
comment on column analysis.label_changes.previous_label is 'Label of the previous answer.';
comment on column analysis.label_changes.label is 'Label of the answer.';
