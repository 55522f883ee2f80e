-- How many pages entered and left the first ten, night by night?
select run_date, queries, entered, left_it, stayed
from analysis.churn
where analysis.in_span(run_date)
order by run_date;
