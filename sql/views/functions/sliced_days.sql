-- Queries in the current slice, with the days on which they belong to it. The planner does not inline plpgsql
-- functions.
create or replace function analysis.sliced_days(finished boolean default false)
returns table (query_id uuid, run_date date)
language plpgsql stable parallel safe rows 1000 as $$
declare
  asked date[];
begin
  -- Finished days, whose labels are already stored, are included only on request.
  select array_agg(distinct runs.run_date) into asked
  from public.runs
  where finished
    or runs.run_date not in (select days.run_date from public.finished_days as days where days.made_at is not null);
  if asked is null then
    return;
  end if;
  return query
    with told as materialized (
      select query_days.query_id, query_days.run_date, query_days.slices
      from analysis.query_days
      where query_days.run_date = any (asked)
    ),
    -- Many queries have the same labels, so each set of labels is evaluated once. Without "offset 0", the planner would
    -- evaluate the labels of each query.
    fitting as materialized (
      select kinds.slices
      from (select distinct told.slices from told offset 0) as kinds
      where analysis.holds(kinds.slices)
    )
    select told.query_id, told.run_date
    from told
    join fitting on fitting.slices = told.slices;
end
$$;
comment on function analysis.sliced_days(boolean) is 'One row for each query and each day on which the query belongs to analysis.slice(). Finished days are included only if the argument is true.';
