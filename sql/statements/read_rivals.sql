-- Reads the domains that appear with a given domain in the last known answers, most frequent first. Parameters:
-- :domain, :until (date).
select
  shown.domain, count(*) as shared, count(*) filter (where shown.place >> 20 < mine.place >> 20) as ahead,
  min(shown.place) >> 20 as best
from analysis.known_on(:until::date) as known
cross join lateral analysis.domains_in(known.search_id, array[:domain::text]) as mine
cross join lateral analysis.domains_in(known.search_id) as shown
where mine.place is not null
  and shown.place is not null
  and shown.domain <> :domain
group by shown.domain
order by count(*) desc, count(*) filter (where shown.place >> 20 < mine.place >> 20) desc, shown.domain
limit 15;
