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
      from own_domains
      where own_domains.domain = share_of_voice.domain
        and (own_domains.since is null or own_domains.since <= share_of_voice.run_date)
        and (own_domains.until is null or own_domains.until >= share_of_voice.run_date)
    )
    else domain = :domain
  end
order by domain, run_date;
