-- For how many queries does a domain stand at 1 to 3, 4 to 10, and further down, day by day?
-- :domain = (a domain; empty: ours)
select run_date, domain, from_1_to_3, from_4_to_10, from_11_to_20, from_21, not_ranked, queries
from analysis.position_buckets
where tag = '*'
  and analysis.in_span(run_date)
  -- As a list that is known before: so it goes down to the rows of these domains.
  and position_buckets.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(position_buckets.run_date) as ours
      where ours.domain = position_buckets.domain
    )
    else domain = :domain
  end
order by domain, run_date;
