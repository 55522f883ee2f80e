-- Queries whose current labels match the slice.
create or replace function analysis.queries_in_slice() returns table (query_id uuid)
language sql stable parallel safe as $$
  with told as materialized (
    select query_labels.query_id, query_labels.labels
    from analysis.query_labels
  ),
  -- Many queries have the same labels, so each set of labels is evaluated once. Without "offset 0", the planner would
  -- evaluate the labels of each query.
  fitting as materialized (
    select kinds.labels
    from (select distinct told.labels from told offset 0) as kinds
    where analysis.holds(kinds.labels)
  )
  select told.query_id
  from told
  join fitting on fitting.labels = told.labels
$$;
comment on function analysis.queries_in_slice() is 'Queries whose labels in analysis.query_labels match analysis.slice().';
