-- Origins of the answers that the views show: the querymill.origins setting, or live if the setting is empty.
create or replace function analysis.origins() returns text[]
language sql stable parallel safe as $$
  select string_to_array(
    replace(coalesce(nullif(current_setting('querymill.origins', true), ''), 'live'), ' ', ''),
    ','
  )
$$;
comment on function analysis.origins() is 'Origins of the answers that the views show: live, unless the querymill.origins setting names other origins. Example: set querymill.origins = ''live,sandbox''.';
