-- How old are the newest answers of each list?
select list, queries, answered, never_answered, newest, oldest, median_age
from analysis.freshness
order by list;
