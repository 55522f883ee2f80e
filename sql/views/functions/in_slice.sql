-- Whether a query belongs to the slice in use, by the labels that it had on a day. Asked for one query and day at a time.
create or replace function analysis.in_slice(query uuid, day date) returns boolean
language sql stable parallel safe as $$
  select exists (
    select
    from analysis.query_days
    where query_days.query_id = in_slice.query
      and query_days.run_date = in_slice.day
      and analysis.holds(query_days.slices)
  )
$$;
comment on function analysis.in_slice(uuid, date) is 'True when a query belongs to analysis.slice() by what its lists called it on that day.';
