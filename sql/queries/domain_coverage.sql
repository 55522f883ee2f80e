-- Which share of the queries does a domain cover, by label, on a day?
-- :domain = (a domain; empty: ours)
-- :day = newest (day of the run; newest: the newest full one)
select
  domain,
  tag,
  round(share_in_top_3::numeric, 3) as share_in_top_3,
  round(share_in_top_10::numeric, 3) as share_in_top_10,
  round(share_ranked::numeric, 3) as share_ranked,
  queries
from analysis.domain_coverage
where run_date = :day::date
  -- As a list that is known before: so it goes down to the rows of these domains.
  and domain_coverage.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(domain_coverage.run_date) as ours
      where ours.domain = domain_coverage.domain
    )
    else domain = :domain
  end
order by domain, tag;
