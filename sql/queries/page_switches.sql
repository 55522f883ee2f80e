-- For which queries does the best page of a domain change back and forth?
-- :domain = (a domain; empty: ours)
select
  q, domain, switches, pages, url_keys, run_date as last_switch,
  analysis.variant_of(page_switches.query_id) as variant
from analysis.page_switches
where page_switches.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from own_domains
      where own_domains.domain = page_switches.domain
        and (own_domains.since is null or own_domains.since <= page_switches.run_date)
        and (own_domains.until is null or own_domains.until >= page_switches.run_date)
    )
    else domain = :domain
  end
order by switches desc, q, domain, variant;
