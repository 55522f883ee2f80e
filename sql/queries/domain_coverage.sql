-- Which share of the queries does a domain cover, by label, on a day?
-- :domain = (a domain; empty: ours)
-- :day = (day of the run; empty: the newest)
select
  domain,
  tag,
  round(share_in_top_3::numeric, 3) as share_in_top_3,
  round(share_in_top_10::numeric, 3) as share_in_top_10,
  round(share_ranked::numeric, 3) as share_ranked,
  queries
from analysis.domain_coverage
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
  and case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by domain, tag;
