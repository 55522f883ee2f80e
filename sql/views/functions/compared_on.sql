-- Rows of analysis.live_steps for one day. The planner does not inline plpgsql functions. Without Memoize, which the
-- planner expects to help although nearly every answer is read once, the function is a sixth faster.
create or replace function analysis.compared_on(day date)
returns table (
  query_id uuid, run_date date, search_id bigint, fetched_at timestamptz, previous_search_id bigint,
  previous_run_date date, depth integer, previous_depth integer, volatility double precision, compared_depth integer,
  entered integer, left_top_10 integer, stayed integer, switched text[],
  retitled text[], relabelled boolean, moves bigint[], step smallint, since smallint[], ended smallint[]
)
language plpgsql stable parallel safe rows 1000
set enable_memoize = off as $$
#variable_conflict use_column
begin
  return query
    with steps as materialized (
      select *, least(depth, previous_depth) as places, least(10, depth, previous_depth) as firsts
      from analysis.steps_on(day)
    ),
    results as materialized (
      select
        steps.query_id, steps.places, steps.firsts, side.now, shown.position, shown.page_id, shown.title,
        -- As in result_domains, a position of 2^40 or more is treated as missing.
        case when shown.position between 0 and 1099511627775 then (shown.position << 20) | shown.ordinal end as place,
        hashtextextended(pages.url_key, 0) as page,
        case
          when domains.domain like any ((select analysis.site_patterns())::text[])
            then analysis.site_of(domains.domain, pages.url_key)
          else domains.domain
        end as domain
      from steps
      cross join lateral (values (steps.search_id, true), (steps.previous_search_id, false)) as side (search_id, now)
      -- Reads the results answer by answer, because a single join would read the results of all days.
      cross join lateral (
        select *
        from public.organic_results
        where organic_results.search_id = side.search_id
        offset 0
      ) as shown
      left join public.pages on pages.id = shown.page_id
      left join public.domains on domains.id = coalesce(shown.domain_id, pages.domain_id)
      where steps.previous_search_id is not null
    ),
    -- What is stored about the previous answer. Its pages are in the order of their positions.
    known as (
      select kept.query_id, kept.step, kept.since
      from steps
      join public.finished_days
        on finished_days.run_date = steps.previous_run_date
        and finished_days.made_at is not null
        and finished_days.basis = (select analysis.basis())
      join public.finished_steps as kept
        on kept.finish_id = finished_days.id
        and kept.query_id = steps.query_id
        and kept.search_id = steps.previous_search_id
      where kept.step is not null
    ),
    compared as (
      select
        query_id,
        coalesce(
          sum(abs(
            case when position <= places then position else places + 1 end
            - case when previous_position <= places then previous_position else places + 1 end
          ))
          -- The divisor is the difference that would result if every page were replaced. The
          -- divisor is computed from the actual positions, because positions may be shared or
          -- missing.
          / nullif(sum(greatest(places + 1 - position, 0) + greatest(places + 1 - previous_position, 0)), 0)::double precision,
          0
        ) as volatility,
        max(places)::integer as compared_depth,
        (count(*) filter (where position <= firsts and (previous_position > firsts or previous_position is null)))::integer as entered,
        (count(*) filter (where previous_position <= firsts and (position > firsts or position is null)))::integer as left_top_10,
        (count(*) filter (where position <= firsts and previous_position <= firsts))::integer as stayed,
        -- No steps are stored with the first answer, because its pages have been there for an unknown time.
        array_agg(
          case when previous_position <= 10 then coalesce(known.since[previous_place], 1::smallint)
            else known.step + 1::smallint
          end
          order by position, page
        ) filter (where position <= 10) as since,
        array_agg(coalesce(known.since[previous_place], 1::smallint) order by page)
          filter (where previous_position <= 10 and (position > 10 or position is null)) as ended
      from (
        select
          query_id, page, max(places) as places, max(firsts) as firsts,
          min(position) filter (where not now) as previous_position,
          min(position) filter (where now) as position,
          row_number() over (partition by query_id order by min(position) filter (where not now), page) as previous_place
        from results
        where page is not null
          and position is not null
        group by query_id, page
      ) as placed
      left join known using (query_id)
      group by query_id
    ),
    of_domain as materialized (
      select
        query_id, domain, min(place) filter (where now) as place, min(place) filter (where not now) as previous_place,
        min(page) <> max(page) as several_pages
      from results
      where domain is not null
        and position is not null
      group by query_id, domain
    ),
    moved as (
      select of_domain.query_id, array_agg(of_domain.domain order by of_domain.domain) as switched
      from of_domain
      join steps on steps.query_id = of_domain.query_id
      cross join lateral analysis.page_at(steps.search_id, of_domain.place) as now
      cross join lateral analysis.page_at(steps.previous_search_id, of_domain.previous_place) as before
      -- A domain's best page can differ only if the two answers together contain at least two of its pages.
      where of_domain.several_pages
        and analysis.page_name(now.url_key) <> analysis.page_name(before.url_key)
      group by of_domain.query_id
    ),
    shifted as (
      select query_id, array_agg(places order by places) as moves
      from (
        select
          query_id,
          case
            when previous_place is null then previous_depth + 1 - (place >> 20)
            when place is null then depth + 1 - (previous_place >> 20)
            else abs((previous_place >> 20) - (place >> 20))
          end as places
        from of_domain
        join steps using (query_id)
        where coalesce(place, previous_place) is not null
          and (place is not null or depth >= previous_place >> 20)
          and (previous_place is not null or previous_depth >= place >> 20)
      ) as each_domain
      group by query_id
    ),
    renamed as (
      select now.query_id, array_agg(distinct now.domain) as retitled
      from results as now
      join results as before using (query_id, page_id)
      where now.now
        and not before.now
        and before.title is distinct from now.title
      group by now.query_id
    )
    select
      steps.query_id, steps.run_date, steps.search_id, steps.fetched_at, steps.previous_search_id,
      steps.previous_run_date, steps.depth, steps.previous_depth,
      case when steps.places > 0 then compared.volatility end,
      case when steps.places > 0 then compared.compared_depth end,
      case when steps.places > 0 then compared.entered end,
      case when steps.places > 0 then compared.left_top_10 end,
      case when steps.places > 0 then compared.stayed end,
      moved.switched, renamed.retitled,
      case when steps.previous_search_id is not null
        then (fresh.intent, fresh.sentiment) is distinct from (before.intent, before.sentiment)
      end,
      shifted.moves,
      case when steps.previous_search_id is null then 1::smallint else known.step + 1::smallint end,
      case when known.step is not null then compared.since end,
      case when known.step is not null then compared.ended end
    from steps
    left join known on known.query_id = steps.query_id
    left join compared on compared.query_id = steps.query_id
    left join moved on moved.query_id = steps.query_id
    left join renamed on renamed.query_id = steps.query_id
    left join shifted on shifted.query_id = steps.query_id
    left join public.searches as fresh on fresh.id = steps.search_id
    left join public.searches as before on before.id = steps.previous_search_id;
end
$$;
comment on function analysis.compared_on(date) is 'Rows of analysis.live_steps for one day, computed without reading the other days. Additional columns hold the domains whose best page or titles changed, and the pages that entered or left positions 1 to 10. Further columns show whether a label changed and by how many places each domain moved.';
