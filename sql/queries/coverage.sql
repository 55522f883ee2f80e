-- Which part of each list was answered, day by day?
-- :list = (name of a list; empty: all)
select run_date, list, planned, answered, round(share::numeric, 3) as share, bought, reused, not_asked, unreadable, suspect, hidden, failed, unknown,
  unaffordable, open
from analysis.coverage
where (:list::text is null or list = :list)
  and analysis.in_span(run_date)
order by run_date desc, list;
