-- Where did a domain stand for a query, day by day?
-- :q (text of the query)
-- :domain = (a domain; empty: ours)
select run_date, domain, position, url_key as page, depth, evidence
from analysis.rank_history
where q = :q
  and case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by domain, run_date;
