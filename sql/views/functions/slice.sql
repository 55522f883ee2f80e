-- Current slice, from the querymill.slice setting; null for all queries.
create or replace function analysis.slice() returns jsonb
language sql stable parallel safe as $$
  select nullif(current_setting('querymill.slice', true), '')::jsonb
$$;
comment on function analysis.slice() is 'Current slice, from the querymill.slice setting; null for all queries. The slice is an array of conditions that must all be met. Each condition is an array of labels, at least one of which must match. A label begins with + if the query must have the label, and with - if the query must not have the label. Example: [["+device=mobile"],["+brand","-test"]]. The flags of npm run sql and npm run export set the slice.';
