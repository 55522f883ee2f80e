-- Which places in the top ten were lost for good, two answers running?
-- :domain = (a domain; empty: ours)
-- :rows = 50 (how many, newest first)
select run_date, q, domain, base_position, position, url_key as page, base_run_date
from analysis.confirmed_losses
where case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by run_date desc, base_position, q
limit :rows::integer;
