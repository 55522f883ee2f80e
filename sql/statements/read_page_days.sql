-- Reads a page's positions under all spellings of its address, newest first. Parameters: :key (key of the page),
-- :since,
-- :until (date), :most (integer).
select
  shown."runDate", shown."queryId", queries.q, analysis.variant_of(queries.id) as variant, shown.position,
  shown.title, shown.search
from (
  select
    observations.run_date as "runDate", observations.query_id as "queryId", observations.search_id as search,
    min(organic_results.position) as position,
    (array_agg(organic_results.title order by organic_results.ordinal))[1] as title
  from analysis.observations
  join organic_results on organic_results.search_id = observations.search_id
  where observations.run_date between :since::date and :until::date
    and observations.query_id = any (array(
      select analysis.queries_showing(array[:key::text], :since::date, :until::date)
    ))
    and organic_results.position is not null
    and organic_results.page_id = any (array(select analysis.pages_of(array[:key::text])))
  group by observations.run_date, observations.query_id, observations.search_id
  order by observations.run_date desc
  limit :most::integer
) as shown
join queries on queries.id = shown."queryId"
order by shown."runDate" desc, shown.position, queries.q, queries.id;
