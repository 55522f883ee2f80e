-- Stores the pages shown in a day's answers, for each query.
insert into seen_pages (page_id, query_id)
select distinct organic_results.page_id, observations.query_id
from analysis.observations
join organic_results on organic_results.search_id = observations.search_id
where observations.run_date = :day::date
  and organic_results.page_id is not null
-- In order, because neighbouring index entries are then looked up together.
order by organic_results.page_id, observations.query_id
on conflict do nothing
