-- Which queries the views are narrowed to: what the setting querymill.slice says; null: all of them.
create or replace function analysis.slice() returns jsonb
language sql stable parallel safe as $$
  select nullif(current_setting('querymill.slice', true), '')::jsonb
$$;
comment on function analysis.slice() is 'The slice in use, from the setting querymill.slice: an array of conditions that must all hold, each an array of labels with a + (has it) or a - (has it not) in front, of which one must hold, as in [["+device=mobile"],["+brand","-test"]]. Null: all queries. The flags of npm run sql and export set it.';
