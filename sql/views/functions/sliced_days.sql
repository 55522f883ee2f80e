-- All queries of the slice in use with the days on which they belong to it, found together.
-- In plpgsql: the planner would plan it anew into every view, and nearly nobody asks it.
create or replace function analysis.sliced_days() returns table (query_id uuid, run_date date)
language plpgsql stable parallel safe rows 1000 as $$
begin
  return query
    with told as materialized (
      select query_days.query_id, query_days.run_date, query_days.slices
      from analysis.query_days
    ),
    -- Many queries have the same labels: each set of them is judged once.
    fitting as materialized (
      select kinds.slices
      from (select distinct told.slices from told) as kinds
      where analysis.holds(kinds.slices)
    )
    select told.query_id, told.run_date
    from told
    join fitting on fitting.slices = told.slices;
end
$$;
comment on function analysis.sliced_days() is 'Each query with each day on which it belongs to analysis.slice(): the same as analysis.in_slice says one by one, for all days at once.';
