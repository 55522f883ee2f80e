-- Compares each domain's best place in two answers to one query.
create or replace function analysis.moves_of(
  search bigint, seen integer, previous_search bigint, previous_seen integer, among text[] default null
)
returns table (
  domain text, previous_position bigint, "position" bigint, delta bigint, change text,
  url_key text, previous_url_key text, several_pages boolean, places bigint
)
language sql stable parallel safe as $$
  select
    sides.domain,
    sides.previous_place >> 20,
    sides.place >> 20,
    (sides.previous_place >> 20) - (sides.place >> 20),
    case
      when sides.previous_place is null then 'entered'
      when sides.place is null then 'left'
      when sides.place >> 20 < sides.previous_place >> 20 then 'up'
      when sides.place >> 20 > sides.previous_place >> 20 then 'down'
      else 'same'
    end,
    -- The pages are read from the results only if the caller uses them.
    (select page.url_key from analysis.page_at(search, sides.place) as page),
    (select page.url_key from analysis.page_at(previous_search, sides.previous_place) as page),
    (
      select min(hashtextextended(shown.url_key, 0)) <> max(hashtextextended(shown.url_key, 0))
      from unnest(array[search, previous_search]) as side (search_id)
      cross join lateral analysis.shown_in(side.search_id) as shown
      where shown.domain = sides.domain
        and shown.place is not null
    ),
    case
      when sides.previous_place is null then previous_seen + 1 - (sides.place >> 20)
      when sides.place is null then seen + 1 - (sides.previous_place >> 20)
      else abs((sides.previous_place >> 20) - (sides.place >> 20))
    end
  from analysis.places_of(search, previous_search, moves_of.among) as sides
  -- A domain counts as entered or left only if the other answer was deep enough to show its position.
  where (sides.place is not null or seen >= sides.previous_place >> 20)
    and (sides.previous_place is not null or previous_seen >= sides.place >> 20)
$$;
comment on function analysis.moves_of(bigint, integer, bigint, integer, text[]) is 'Changes for each domain between two answers to one query. The arguments are the id and depth of the answer, followed by the id and depth of the previous answer. The last argument restricts the result to the given domains.';
