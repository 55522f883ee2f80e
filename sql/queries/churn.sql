-- How many pages entered and left the first ten, night by night?
select run_date, queries, entered, left_it, stayed
from analysis.churn
order by run_date;
