-- What is the average place of a domain, with and without the queries it does not rank for?
-- :domain = (a domain; empty: ours)
select
  run_date,
  domain,
  round(average_where_ranked::numeric, 2) as average_where_ranked,
  round(average_with_stand_in::numeric, 2) as average_with_stand_in,
  stand_in,
  ranked,
  queries
from analysis.average_rank
where tag = '*'
  and analysis.in_span(run_date)
  -- As a list that is known before: so it goes down to the rows of these domains.
  and average_rank.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(average_rank.run_date) as ours
      where ours.domain = average_rank.domain
    )
    else domain = :domain
  end
order by domain, run_date;
