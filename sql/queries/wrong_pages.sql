-- For which queries does another page rank than the one that the list names?
-- :day = newest (day of the run; newest: the newest full one)
select
  q, domain, position, url_key as page, target_key as wanted, target_position as wanted_position,
  analysis.variant_of(wrong_pages.query_id) as variant
from analysis.wrong_pages
where run_date = :day::date
order by position, q, domain, variant;
