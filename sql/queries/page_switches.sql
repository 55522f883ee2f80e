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
      from analysis.ours_on(page_switches.run_date) as ours
      where ours.domain = page_switches.domain
    )
    else domain = :domain
  end
order by switches desc, q, domain, variant;
