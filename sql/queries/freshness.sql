-- How old are the newest answers of each list?
-- :list = (name of a list; empty: all)
select list, queries, answered, never_answered, newest, oldest, median_age
from analysis.freshness
where :list::text is null or list = :list
order by list;
