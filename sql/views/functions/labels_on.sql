-- Rows of analysis.live_labels for one day. The planner does not inline plpgsql functions.
create or replace function analysis.labels_on(day date)
returns table (
  run_date date, set_id bigint, labels text[], queries bigint, weight double precision, planned bigint,
  planned_weight double precision
)
language plpgsql stable parallel safe rows 20 as $$
begin
  return query
    select
      live.run_date, live.set_id, live.labels, live.queries, live.weight, live.planned, live.planned_weight
    from analysis.live_labels as live
    where live.run_date = day;
end
$$;
comment on function analysis.labels_on(date) is 'Rows of analysis.live_labels for one day, computed without reading the other days.';
