-- Rows of analysis.movers for one day, computed without reading the other days.
create or replace function analysis.movers_on(night date, domains text[] default null)
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
  from analysis.step_days as steps
  cross join lateral analysis.moves_of(
    steps.search_id, steps.depth, steps.previous_search_id, steps.previous_depth, movers_on.domains
  ) as moves
  left join public.queries on queries.id = steps.query_id
  where steps.run_date = night
    and steps.previous_search_id is not null
$$;
comment on function analysis.movers_on(date, text[]) is 'Rows of analysis.movers for one day, computed without reading the other days. The second argument restricts the result to the given domains.';
