-- True if a query with these labels belongs to the current slice.
create or replace function analysis.holds(labels text[]) returns boolean
language sql stable parallel safe as $$
  select analysis.slice() is null or not exists (
    select
    from jsonb_array_elements(analysis.slice()) as condition
    where not exists (
      select
      from jsonb_array_elements_text(condition) as wanted
      where (substr(wanted, 2) = any (coalesce(labels, '{}'))) = (left(wanted, 1) = '+')
    )
  )
$$;
comment on function analysis.holds(text[]) is 'True if the given labels (as in analysis.query_days.slices) meet every condition of analysis.slice(), or if there is no slice.';
