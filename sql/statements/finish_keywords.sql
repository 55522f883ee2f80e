-- Stores the keywords of a day.
insert into finished_keywords
  (finish_id, query_id, run_date, search_id, depth, weight, labels, features, domain, position, page_id, rivals)
select
  :finish::bigint, query_id, run_date, search_id, depth, weight, labels, features, domain, position,
  page_id, rivals
from analysis.keywords_on(:day::date)
-- Stored in this order, because two days are compared by a merge join.
order by query_id
