-- For which queries do several pages of one domain stand in the same answer?
-- :domain = (a domain; empty: ours)
-- :day = (day of the run; empty: the newest)
select q, domain, pages, positions, url_keys
from analysis.cannibalised_serps
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
  and case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by pages desc, q;
