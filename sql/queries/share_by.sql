-- What share of voice does a domain have by device, country, language, place or list?
-- :by = device (device, country, language, place or list)
-- :domain = (a domain; empty: ours)
-- :day = newest (day of the run; newest: the newest full one)
select
  substr(tag, length(:by) + 2) as slice,
  domain,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(visibility::numeric, 4) as visibility,
  ranked,
  queries
from analysis.share_of_voice
where run_date = :day::date
  and starts_with(tag, :by || '=')
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
order by domain, slice;
