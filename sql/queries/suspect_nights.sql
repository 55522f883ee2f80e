-- Which nights are left out of shares and trends, and why?
select run_date, list, run_id as run, array_to_string(reasons, '; ') as why, asked, answered, empty, unreadable
from analysis.night_health
where suspect
order by run_date desc, run_id desc;
