-- Between which ends does the share of voice of a domain lie, whatever the unanswered queries would have said?
-- :domain = (a domain; empty: ours)
select
  run_date,
  domain,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(low::numeric, 4) as low,
  round(high::numeric, 4) as high,
  queries,
  unanswered
from analysis.share_bounds
where tag = '*'
  and analysis.in_span(run_date)
  -- As a list that is known before: so it goes down to the rows of these domains.
  and share_bounds.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(share_bounds.run_date) as ours
      where ours.domain = share_bounds.domain
    )
    else domain = :domain
  end
order by domain, run_date;
