-- Pairs each query's last known answers on two days.
create or replace function analysis.pairs_between(since date, until date)
returns table (
  query_id uuid, run_date date, search_id bigint, depth integer, fetched_at timestamptz,
  previous_run_date date, previous_search_id bigint, previous_depth integer
)
language sql stable parallel safe as $$
  select
    now.query_id, now.run_date, now.search_id, now.depth, now.fetched_at,
    before.run_date, before.search_id, before.depth
  from analysis.known_on(until) as now
  join analysis.known_on(since) as before
    on before.query_id = now.query_id
    and before.origin = now.origin
    and before.api = now.api
    and before.search_id <> now.search_id
$$;
comment on function analysis.pairs_between(date, date) is 'Last known answers to each query on two days, from the same origin and API. Queries with the same answer on both days are excluded.';
