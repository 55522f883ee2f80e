-- For which queries do several pages of one domain stand in the same answer?
-- :domain = (a domain; empty: ours)
-- :day = newest (day of the run; newest: the newest full one)
select
  q, domain, pages, positions, url_keys,
  analysis.variant_of(cannibalised_serps.query_id) as variant
from analysis.cannibalised_serps
where run_date = :day::date
  -- As a list that is known before: so it goes down to the rows of these domains.
  and cannibalised_serps.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from own_domains
      where own_domains.domain = cannibalised_serps.domain
        and (own_domains.since is null or own_domains.since <= cannibalised_serps.run_date)
        and (own_domains.until is null or own_domains.until >= cannibalised_serps.run_date)
    )
    else domain = :domain
  end
order by pages desc, q, domain, variant;
