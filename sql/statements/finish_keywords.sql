-- Stores a day's keywords.
insert into finished_keywords
  (finish_id, query_id, run_date, search_id, depth, weight, labels, features, domain, position, page_id, rivals,
  fetched_at, origin, api)
select
  :finish::bigint, keywords.query_id, keywords.run_date, keywords.search_id, keywords.depth, keywords.weight,
  keywords.labels, keywords.features, keywords.domain, keywords.position, keywords.page_id, keywords.rivals,
  searches.fetched_at, searches.origin, searches.api
from analysis.keywords_on(:day::date) as keywords
left join searches on searches.id = keywords.search_id
-- The rows are sorted by query id, so that a merge join can compare two days.
order by keywords.query_id
