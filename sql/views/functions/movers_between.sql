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
    sides.query_id, queries.q, sides.domain, sides.run_date, sides.previous_place >> 20, sides.place >> 20,
    (sides.previous_place >> 20) - (sides.place >> 20),
    case
      when sides.previous_place is null then 'entered'
      when sides.place is null then 'left'
      when sides.place >> 20 < sides.previous_place >> 20 then 'up'
      when sides.place >> 20 > sides.previous_place >> 20 then 'down'
      else 'same'
    end,
    sides.fetched_at, sides.previous_run_date,
    (select url_key from analysis.page_at(sides.search_id, sides.place)),
    (select url_key from analysis.page_at(sides.previous_search_id, sides.previous_place)),
    sides.depth, sides.previous_depth, sides.search_id, sides.previous_search_id,
    (
      select moves.several_pages
      from analysis.moves_of(sides.search_id, sides.depth, sides.previous_search_id, sides.previous_depth) as moves
      where moves.domain = sides.domain
    ),
    case
      when sides.previous_place is null then sides.previous_depth + 1 - (sides.place >> 20)
      when sides.place is null then sides.depth + 1 - (sides.previous_place >> 20)
      else abs((sides.previous_place >> 20) - (sides.place >> 20))
    end
  from (
    select
      steps.query_id, held.domain,
      max(steps.run_date) as run_date, max(steps.fetched_at) as fetched_at, max(steps.depth) as depth,
      max(steps.search_id) as search_id, max(steps.previous_run_date) as previous_run_date,
      max(steps.previous_depth) as previous_depth, max(steps.previous_search_id) as previous_search_id,
      min(held.place) filter (where side.now) as place,
      min(held.place) filter (where not side.now) as previous_place
    from analysis.pairs_between(since, until) as steps
    cross join lateral (values (steps.search_id, true), (steps.previous_search_id, false)) as side (search_id, now)
    cross join lateral analysis.domains_in(side.search_id, movers_between.domains) as held
    where held.place is not null
    group by steps.query_id, held.domain
  ) as sides
  left join public.queries on queries.id = sides.query_id
  -- A domain counts as entered or left only if the other answer was deep enough to show its position.
  where (sides.place is not null or sides.depth >= sides.previous_place >> 20)
    and (sides.previous_place is not null or sides.previous_depth >= sides.place >> 20)
$$;
comment on function analysis.movers_between(date, date, text[]) is 'Changes for each domain between two days, as in analysis.movers, but based on the last known answers to each query. run_date and previous_run_date are the days of these answers. The third argument restricts the result to the given domains.';
