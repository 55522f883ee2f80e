-- For how many queries does a domain stand at 1 to 3, 4 to 10, and further down, day by day?
-- :domain = (a domain; empty: ours)
-- :tag = * (label; * is every query)
select run_date, domain, from_1_to_3, from_4_to_10, from_11_to_20, from_21, not_ranked, queries
from analysis.position_buckets
where tag = :tag
  and case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by domain, run_date;
