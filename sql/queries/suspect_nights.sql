-- Which nights are left out of shares and trends, and why?
-- unsliced: a night is judged by its list, --list, as a whole
-- :list = (name of a list; empty: all)
select run_date, list, run_id as run, array_to_string(reasons || remarks, '; ') as why, asked, answered, empty, unreadable
from analysis.night_health
where suspect
  and (:list::text is null or list = :list)
  and analysis.in_span(run_date)
order by run_date desc, run_id desc;
