-- Compares each domain's results in two answers to one query.
create or replace function analysis.moves_of(search bigint, seen integer, previous_search bigint, previous_seen integer)
returns table (
  domain text, previous_position bigint, "position" bigint, delta bigint, change text,
  url_key text, previous_url_key text, several_pages boolean, places bigint
)
language sql stable parallel safe as $$
  select
    sides.domain,
    sides.previous_place >> 20 as previous_position,
    sides.place >> 20 as position,
    (sides.previous_place >> 20) - (sides.place >> 20) as delta,
    case
      when sides.previous_place is null then 'entered'
      when sides.place is null then 'left'
      when sides.place >> 20 < sides.previous_place >> 20 then 'up'
      when sides.place >> 20 > sides.previous_place >> 20 then 'down'
      else 'same'
    end as change,
    sides.url_key,
    sides.previous_url_key,
    sides.several_pages,
    case
      when sides.previous_place is null then previous_seen + 1 - (sides.place >> 20)
      when sides.place is null then seen + 1 - (sides.previous_place >> 20)
      else abs((sides.previous_place >> 20) - (sides.place >> 20))
    end as places
  from (
    select
      result_domains.domain,
      min(hashtextextended(result_domains.url_key, 0)) <> max(hashtextextended(result_domains.url_key, 0))
        as several_pages,
      min(result_domains.place) filter (where side.now) as place,
      min(result_domains.place) filter (where not side.now) as previous_place,
      -- Also reads the page here, because finding the best position again would more than double the cost.
      (array_agg(result_domains.url_key order by result_domains.place) filter (where side.now))[1] as url_key,
      (array_agg(result_domains.url_key order by result_domains.place) filter (where not side.now))[1]
        as previous_url_key
    from (values (search, true), (previous_search, false)) as side (search_id, now)
    cross join lateral analysis.shown_in(side.search_id) as result_domains
    where result_domains.place is not null
      and result_domains.domain is not null
    group by result_domains.domain
  ) as sides
  -- A domain counts as entered or left only if the other answer was deep enough to show its position.
  where (sides.place is not null or seen >= sides.previous_place >> 20)
    and (sides.previous_place is not null or previous_seen >= sides.place >> 20)
$$;
comment on function analysis.moves_of(bigint, integer, bigint, integer) is 'Changes for each domain between two answers to one query. The arguments are the id and depth of the answer, followed by the id and depth of the previous answer.';
