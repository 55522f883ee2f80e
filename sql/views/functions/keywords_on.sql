-- Every keyword on a day, with our domains' best position in the keyword's last known answer.
create or replace function analysis.keywords_on(day date)
returns table (
  query_id uuid, run_date date, search_id bigint, depth integer, weight double precision, labels text[],
  features text[], domain text, "position" bigint, page_id uuid, rivals text[]
)
language sql stable parallel safe as $$
  with known as materialized (
    select query_id, run_date, search_id, depth
    from analysis.known_on(keywords_on.day)
  ),
  named as materialized (
    select distinct domain, true as ours
    from analysis.ours_on(keywords_on.day)
    union all
    select distinct domain, false
    from public.rival_domains
    where (since is null or since <= keywords_on.day)
      and (until is null or until >= keywords_on.day)
  ),
  best as (
    select
      known.search_id,
      (array_agg(held.domain order by held.place) filter (where named.ours))[1] as domain,
      min(held.place) filter (where named.ours) as place,
      array_agg(distinct held.domain) filter (where not named.ours) as rivals
    from known
    -- The planner inlines a function only if its arguments contain no subquery.
    cross join (select array(select domain from named) as domains offset 0) as asked
    cross join lateral analysis.domains_in(known.search_id, asked.domains) as held
    join named on named.domain = held.domain
    where held.place is not null
    group by known.search_id
  ),
  blocks as (
    select search_features.search_id, array_agg(distinct search_features.kind) as kinds
    from known
    join public.search_features on search_features.search_id = known.search_id
    group by search_features.search_id
  )
  select
    called.query_id, known.run_date, known.search_id, known.depth, coalesce(weights.weight, 1), called.labels,
    coalesce(blocks.kinds, '{}'), best.domain, best.place >> 20, page.page_id, coalesce(best.rivals, '{}')
  from analysis.query_labels as called
  left join known on known.query_id = called.query_id
  left join analysis.latest_weights as weights on weights.query_id = called.query_id
  left join best on best.search_id = known.search_id
  left join public.organic_results as page
    on page.search_id = best.search_id
    and page.ordinal = (best.place & 1048575)
  left join blocks on blocks.search_id = known.search_id
  where known.query_id is not null
    or weights.query_id is not null
$$;
comment on function analysis.keywords_on(date) is 'Every keyword on a day, with its last known answer from the 31 days up to that day. Each row has the best position of our domains, the SERP features and the rivals in that answer. Keywords in the current lists have a row even if they have no answer from this period. finished_keywords stores these rows for finished days.';
