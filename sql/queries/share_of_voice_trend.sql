-- How did the share of voice of a domain go, day by day?
-- :domain = (a domain; empty: ours)
-- :tag = * (label; * is every query)
select
  run_date,
  domain,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(visibility::numeric, 4) as visibility,
  ranked,
  queries
from analysis.share_of_voice
where tag = :tag
  and case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by domain, run_date;
