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
    sides.query_id,
    queries.q,
    sides.domain,
    sides.run_date,
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
    sides.fetched_at,
    sides.previous_run_date,
    pages.url_key,
    previous_pages.url_key as previous_url_key,
    sides.depth,
    sides.previous_depth,
    sides.search_id,
    sides.previous_search_id,
    sides.several_pages,
    case
      when sides.previous_place is null then sides.previous_depth + 1 - (sides.place >> 20)
      when sides.place is null then sides.depth + 1 - (sides.previous_place >> 20)
      else abs((sides.previous_place >> 20) - (sides.place >> 20))
    end as places
  from (
    select
      steps.query_id, steps.run_date, steps.search_id,
      max(steps.previous_search_id) as previous_search_id,
      max(steps.previous_run_date) as previous_run_date,
      max(steps.depth) as depth,
      max(steps.previous_depth) as previous_depth,
      max(steps.fetched_at) as fetched_at,
      result_domains.domain,
      min(hashtextextended(result_domains.url_key, 0)) <> max(hashtextextended(result_domains.url_key, 0))
        as several_pages,
      min(result_domains.place) filter (where side.now) as place,
      min(result_domains.place) filter (where not side.now) as previous_place
    from analysis.pairs_between(since, until) as steps
    cross join lateral (values (steps.search_id, true), (steps.previous_search_id, false)) as side (search_id, now)
    cross join lateral (
      select *
      from public.result_domains
      where result_domains.search_id = side.search_id
      -- Answer by answer, by their key: the planner expects more answers than a day has, and would read them all.
      offset 0
    ) as result_domains
    where steps.previous_search_id is not null
      and result_domains.place is not null
      and result_domains.domain is not null
    group by steps.query_id, steps.run_date, steps.search_id, result_domains.domain
  ) as sides
  left join lateral (
    select organic_results.page_id
    from public.organic_results
    where organic_results.search_id = sides.search_id
      and organic_results.ordinal = (sides.place & 1048575)
    offset 0
  ) as shown on true
  left join public.pages on pages.id = shown.page_id
  left join lateral (
    select organic_results.page_id
    from public.organic_results
    where organic_results.search_id = sides.previous_search_id
      and organic_results.ordinal = (sides.previous_place & 1048575)
    offset 0
  ) as shown_before on true
  left join public.pages as previous_pages on previous_pages.id = shown_before.page_id
  left join public.queries on queries.id = sides.query_id
  -- Entered or left is known only when the other answer was deep enough to have shown the place.
  where (sides.place is not null or sides.depth >= sides.previous_place >> 20)
    and (sides.previous_place is not null or sides.previous_depth >= sides.place >> 20)
$$;
comment on function analysis.movers_between(date, date) is 'What changed for each domain between the last known answers to each query on two days, as analysis.movers says it for two answers in a row; run_date and previous_run_date tell of which days they are.';
