-- What did the answer to a query look like on a day?
-- :q (text of the query)
-- :day = (day of the run; empty: the newest)
select position, domain, title, url, fetched_at
from analysis.results
where q = :q
  and run_date = coalesce(:day::date, (select max(run_date) from analysis.observations where q = :q))
order by ordinal;
