-- Which moves were the greatest on a day?
-- :domain = (a domain; empty: ours)
-- :day = (day of the run; empty: the newest)
-- :rows = 20 (how many)
select q, domain, previous_position, position, delta, change, url_key as page
from analysis.movers
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
  and change <> 'same'
  and case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by abs(coalesce(delta, 11 - coalesce(previous_position, position))) desc, q
limit :rows::integer;
