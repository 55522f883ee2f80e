-- How did the share of voice of a domain go, day by day?
-- :domain = (a domain; empty: ours)
select
  run_date,
  domain,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(visibility::numeric, 4) as visibility,
  ranked,
  queries
from analysis.share_of_voice
where tag = '*'
  and analysis.in_span(run_date)
  -- As a list that is known before: so it goes down to the rows of these domains.
  and share_of_voice.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(share_of_voice.run_date) as ours
      where ours.domain = share_of_voice.domain
    )
    else domain = :domain
  end
order by domain, run_date;
