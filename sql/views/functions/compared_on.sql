-- The rows of analysis.live_steps for one day. In plpgsql: the planner would plan it anew into every view.
create or replace function analysis.compared_on(day date)
returns table (
  query_id uuid, run_date date, search_id bigint, fetched_at timestamptz, previous_search_id bigint,
  previous_run_date date, depth integer, previous_depth integer, volatility double precision, compared_depth integer,
  entered integer, left_top_10 integer, stayed integer, switched text[]
)
language plpgsql stable parallel safe rows 1000 as $$
#variable_conflict use_column
begin
  return query
    select
      steps.query_id, steps.run_date, steps.search_id, steps.fetched_at, steps.previous_search_id,
      steps.previous_run_date, steps.depth, steps.previous_depth, compared.volatility, compared.compared_depth,
      compared.entered, compared.left_top_10, compared.stayed, moved.switched
    from analysis.steps_on(day) as steps
    left join lateral (
      select
        -- Below the shallower answer's last place nothing is known of the other: both end there.
        coalesce(
          sum(abs(
            case when position <= places then position else places + 1 end
            - case when previous_position <= places then previous_position else places + 1 end
          ))
          -- What it would be if no page had stayed. Counted, since places may be shared by two pages or held by none.
          / nullif(sum(greatest(places + 1 - position, 0) + greatest(places + 1 - previous_position, 0)), 0)::double precision,
          0
        ) as volatility,
        max(places)::integer as compared_depth,
        (count(*) filter (where position <= firsts and (previous_position > firsts or previous_position is null)))::integer as entered,
        (count(*) filter (where previous_position <= firsts and (position > firsts or position is null)))::integer as left_top_10,
        (count(*) filter (where position <= firsts and previous_position <= firsts))::integer as stayed
      from (
        select
          pages.url_key,
          min(shown.position) filter (where not side.now) as previous_position,
          min(shown.position) filter (where side.now) as position,
          least(steps.depth, steps.previous_depth) as places,
          least(10, steps.depth, steps.previous_depth) as firsts
        from (values (steps.search_id, true), (steps.previous_search_id, false)) as side (search_id, now)
        cross join lateral (
          select *
          from public.organic_results
          where organic_results.search_id = side.search_id
            and organic_results.position is not null
          offset 0
        ) as shown
        join public.pages on pages.id = shown.page_id
        group by pages.url_key
      ) as placed
      where places > 0
      having count(*) > 0
    ) as compared on steps.previous_search_id is not null
    left join lateral (
      select array_agg(moves.domain order by moves.domain) as switched
      from analysis.moves_of(steps.search_id, steps.depth, steps.previous_search_id, steps.previous_depth) as moves
      where moves.several_pages
        and analysis.page_name(moves.url_key) <> analysis.page_name(moves.previous_url_key)
    ) as moved on steps.previous_search_id is not null;
end
$$;
comment on function analysis.compared_on(date) is 'The rows of analysis.live_steps for one day, at the cost of that day, and the domains whose best page is another one than before.';
