-- Rows of analysis.live_shares for one day. The planner does not inline plpgsql functions.
create or replace function analysis.shares_on(day date)
returns table (
  run_date date, set_id bigint, labels text[], domain text, ranked bigint, top_3 bigint, top_10 bigint, top_20 bigint,
  positions double precision, clicks double precision
)
language plpgsql stable parallel safe rows 2000 as $$
begin
  return query
    select
      live.run_date, live.set_id, live.labels, live.domain, live.ranked, live.top_3, live.top_10, live.top_20,
      live.positions, live.clicks
    from analysis.live_shares as live
    where live.run_date = day;
end
$$;
comment on function analysis.shares_on(date) is 'Rows of analysis.live_shares for one day, computed without reading the other days.';
