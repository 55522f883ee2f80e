-- Stores the domains and pages in each answer of a day. Replaces rows that were stored earlier. Also stores the pages
-- shown for each query.
with answers as materialized (
  select search_id, query_id
  from analysis.observations
  where run_date = :day::date
),
shown as materialized (
  select
    answers.search_id, answers.query_id, shown.page_id, shown.domain, shown.place, shown.position, shown.url_key
  from answers
  join result_domains as shown on shown.search_id = answers.search_id
),
seen as (
  insert into seen_pages (page_id, query_id)
  select distinct page_id, query_id
  from shown
  where page_id is not null
  -- In order, because neighbouring index entries are then looked up together.
  order by page_id, query_id
  on conflict do nothing
),
named as (
  select search_id, array_agg(domain) as domains, array_agg(place) as places
  from (
    select search_id, domain, min(place) as place
    from shown
    where domain is not null
    group by search_id, domain
  ) as best
  group by search_id
),
paged as (
  select search_id, array_agg(distinct hashtextextended(url_key, 0)) as pages
  from shown
  where position <= 10
    and url_key is not null
  group by search_id
)
insert into finished_answers (search_id, finish_id, domains, places, pages)
select
  answers.search_id, :finish::bigint, coalesce(named.domains, '{}'), coalesce(named.places, '{}'),
  coalesce(paged.pages, '{}')
from answers
left join named using (search_id)
left join paged using (search_id)
on conflict (search_id) do update
set finish_id = excluded.finish_id,
  domains = excluded.domains,
  places = excluded.places,
  pages = excluded.pages
