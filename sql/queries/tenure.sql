-- Which pages stayed in the first ten of a query, and for how long?
-- :q (text of the query)
select url_key as page, since, until, answers, best_position, worst_position, lasts
from analysis.tenure
where q = :q
order by answers desc, best_position, url_key;
