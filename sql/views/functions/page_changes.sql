-- Changes for each page between the last known answers on two days.
create or replace function analysis.page_changes(since date, until date, domains text[] default null)
returns table (
  query_id uuid, q text, domain text, page text, previous_position bigint, "position" bigint,
  weight double precision, clicks_before double precision, clicks_now double precision,
  run_date date, previous_run_date date, depth integer, previous_depth integer, search_id bigint
)
language sql stable parallel safe as $$
  select
    sides.query_id, queries.q, sides.domain, sides.page, sides.previous_position, sides.position,
    coalesce(weights.weight, 1),
    coalesce(weights.weight, 1) * coalesce(before.ctr, 0),
    coalesce(weights.weight, 1) * coalesce(now.ctr, 0),
    sides.run_date, sides.previous_run_date, sides.depth, sides.previous_depth, sides.search_id
  from (
    select
      pairs.query_id, pairs.run_date, pairs.previous_run_date, pairs.depth, pairs.previous_depth, pairs.search_id,
      result_domains.domain,
      analysis.page_name(result_domains.url_key) as page,
      min(result_domains.position) filter (where not side.now) as previous_position,
      min(result_domains.position) filter (where side.now) as position
    from analysis.pairs_between(since, until) as pairs
    cross join lateral (values (pairs.search_id, true), (pairs.previous_search_id, false)) as side (search_id, now)
    cross join lateral analysis.shown_in(side.search_id) as result_domains
    where result_domains.position is not null
      and result_domains.url_key is not null
      and (page_changes.domains is null or result_domains.domain = any (page_changes.domains))
      and case when page_changes.domains is null then 1
        else (exists (
          select
          from analysis.domains_in(side.search_id, page_changes.domains)
        ))::integer
      end <> 0
    group by pairs.query_id, pairs.run_date, pairs.previous_run_date, pairs.depth, pairs.previous_depth, pairs.search_id,
      result_domains.domain, analysis.page_name(result_domains.url_key)
  ) as sides
  join public.queries on queries.id = sides.query_id
  left join analysis.latest_weights as weights on weights.query_id = sides.query_id
  left join analysis.ctr as now on now.position = sides.position
  left join analysis.ctr as before on before.position = sides.previous_position
  -- A page counts as entered or left only if the other answer was deep enough to show its position.
  where (sides.position is not null or sides.depth >= sides.previous_position)
    and (sides.previous_position is not null or sides.previous_depth >= sides.position)
$$;
comment on function analysis.page_changes(date, date, text[]) is 'Pages in the last known answers to each query on two days, with their best positions and weighted clicks on both days. The lists'' current weights are used. Hosts with and without a leading www. count as the same host. The third argument restricts the result to pages of the given domains.';
