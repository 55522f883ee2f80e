-- What changed for each domain between the last known answers on two days.
create or replace function analysis.movers_between(since date, until date)
returns table (
  query_id uuid, q text, domain text, run_date date, previous_position bigint, "position" bigint, delta bigint,
  change text, fetched_at timestamptz, previous_run_date date, url_key text, previous_url_key text,
  depth integer, previous_depth integer, search_id bigint, previous_search_id bigint, several_pages boolean,
  places bigint
)
language sql stable parallel safe as $$
  select
    steps.query_id, queries.q, moves.domain, steps.run_date, moves.previous_position, moves.position, moves.delta,
    moves.change, steps.fetched_at, steps.previous_run_date, moves.url_key, moves.previous_url_key,
    steps.depth, steps.previous_depth, steps.search_id, steps.previous_search_id, moves.several_pages,
    moves.places
  from analysis.pairs_between(since, until) as steps
  cross join lateral analysis.moves_of(steps.search_id, steps.depth, steps.previous_search_id, steps.previous_depth)
    as moves
  left join public.queries on queries.id = steps.query_id
$$;
comment on function analysis.movers_between(date, date) is 'Changes of each domain between the last known answers to each query on two days, as in analysis.movers for consecutive answers. run_date and previous_run_date are the days of these answers.';
