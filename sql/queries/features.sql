-- Which blocks besides the results do answers show, day by day, and in how many are we?
select run_date, kind, shown, round(share::numeric, 3) as share, ours, things, queries
from analysis.feature_days
where tag = '*'
  and analysis.in_span(run_date)
order by run_date desc, share desc, kind;
