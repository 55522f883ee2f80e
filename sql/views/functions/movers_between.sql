-- Changes for each domain between the last known answers on two days.
create or replace function analysis.movers_between(since date, until date, domains text[] default null)
returns table (
  query_id uuid, q text, domain text, run_date date, previous_position bigint, "position" bigint, delta bigint,
  change text, fetched_at timestamptz, previous_run_date date, url_key text, previous_url_key text,
  depth integer, previous_depth integer, search_id bigint, previous_search_id bigint, several_pages boolean,
  places bigint
)
language sql stable parallel safe as $$
  select
    pairs.query_id, queries.q, moves.domain, pairs.run_date, moves.previous_position, moves.position, moves.delta,
    moves.change, pairs.fetched_at, pairs.previous_run_date, moves.url_key, moves.previous_url_key,
    pairs.depth, pairs.previous_depth, pairs.search_id, pairs.previous_search_id, moves.several_pages,
    moves.places
  from analysis.pairs_between(since, until) as pairs
  cross join lateral analysis.moves_of(
    pairs.search_id, pairs.depth, pairs.previous_search_id, pairs.previous_depth, movers_between.domains
  ) as moves
  left join public.queries on queries.id = pairs.query_id
$$;
comment on function analysis.movers_between(date, date, text[]) is 'Changes for each domain between two days, as in analysis.movers, but based on the last known answers to each query. run_date and previous_run_date are the days of these answers. The third argument restricts the result to the given domains.';
