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
      shown.search_id,
      (array_agg(shown.domain order by shown.place) filter (where named.ours))[1] as domain,
      min(shown.place) filter (where named.ours) >> 20 as position,
      (array_agg(shown.page_id order by shown.place) filter (where named.ours))[1] as page_id,
      array_agg(distinct shown.domain) filter (where not named.ours) as rivals
    from known
    join public.result_domains as shown on shown.search_id = known.search_id
    join named on named.domain = shown.domain
    where shown.place is not null
    group by shown.search_id
  ),
  blocks as (
    select search_features.search_id, array_agg(distinct search_features.kind) as kinds
    from known
    join public.search_features on search_features.search_id = known.search_id
    group by search_features.search_id
  )
  select
    called.query_id, known.run_date, known.search_id, known.depth, coalesce(weights.weight, 1), called.labels,
    coalesce(blocks.kinds, '{}'), best.domain, best.position, best.page_id, coalesce(best.rivals, '{}')
  from analysis.query_labels as called
  left join known on known.query_id = called.query_id
  left join analysis.latest_weights as weights on weights.query_id = called.query_id
  left join best on best.search_id = known.search_id
  left join blocks on blocks.search_id = known.search_id
  where known.query_id is not null
    or weights.query_id is not null
$$;
comment on function analysis.keywords_on(date) is 'Every keyword on a day, with its last known answer from the 31 days up to that day. Each row has the best position of our domains, the SERP features and the rivals in that answer. Keywords in the current lists have a row even if they have no answer from this period. finished_keywords stores these rows for finished days.';
