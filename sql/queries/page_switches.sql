-- For which queries does the best page of a domain change back and forth?
-- :domain = (a domain; empty: ours)
select q, domain, switches, pages, url_keys, run_date as last_switch
from analysis.page_switches
where case when :domain::text is null then domain in (select domain from own_domains) else domain = :domain end
order by switches desc, q;
