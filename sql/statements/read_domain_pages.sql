-- Reads a domain's pages in the last known answers on a day. Pages that rank for the most queries come first.
-- Parameters: :domain, :until (date).
with mine as materialized (
  select known.query_id, known.search_id
  from analysis.known_on(:until::date) as known
  cross join lateral analysis.domains_in(known.search_id, array[:domain::text]) as held
)
select
  (array_agg(shown.page_id order by shown.position))[1] as page, shown.url_key as "pageKey",
  count(distinct mine.query_id) as queries, min(shown.position) as best,
  (array_agg(queries.q order by shown.position, queries.q))[1] as example,
  (array_agg(queries.id order by shown.position, queries.q))[1] as "exampleId"
from mine
cross join lateral (
  select ordinal
  from organic_results
  where organic_results.search_id = mine.search_id
    and (
      domain_id is null
      or domain_id = any (array(select id from domains where domain = :domain))
      or (select analysis.site_patterns() is not null)
    )
  offset 0
) as listed
cross join lateral (
  select *
  from public.result_domains
  where result_domains.search_id = mine.search_id
    and result_domains.ordinal = listed.ordinal
  offset 0
) as shown
join queries on queries.id = mine.query_id
where shown.domain = :domain
  and shown.position is not null
  and shown.url_key is not null
group by shown.url_key
order by count(distinct mine.query_id) desc, min(shown.position), shown.url_key
limit 25;
