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
      from analysis.ours_on(cannibalised_serps.run_date) as ours
      where ours.domain = cannibalised_serps.domain
    )
    else domain = :domain
  end
order by pages desc, q, domain, variant;
