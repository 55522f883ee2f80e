-- For which queries does another page rank than the one that the list names?
-- :day = (day of the run; empty: the newest)
select q, domain, position, url_key as page, target_key as wanted, target_position as wanted_position
from analysis.wrong_pages
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
order by position, q;
