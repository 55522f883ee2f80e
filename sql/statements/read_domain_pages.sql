-- Reads the pages of a domain in the last known answers on a day, those for most queries first. Parameters: :domain,
-- :until (date).
select
  (array_agg(shown.page_id order by shown.position))[1] as page, shown.url_key as "pageKey",
  count(distinct known.query_id) as queries, min(shown.position) as best,
  (array_agg(queries.q order by shown.position, queries.q))[1] as example,
  (array_agg(queries.id order by shown.position, queries.q))[1] as "exampleId"
from analysis.known_on(:until::date) as known
join public.result_domains as shown on shown.search_id = known.search_id
join queries on queries.id = known.query_id
where shown.domain = :domain
  and shown.position is not null
  and shown.url_key is not null
group by shown.url_key
order by count(distinct known.query_id) desc, min(shown.position), shown.url_key
limit 25;
