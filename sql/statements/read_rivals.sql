-- Reads the domains in the last known answers that show a given domain, most frequent first. Parameters: :domain,
-- :until (date).
with mine as materialized (
  select known.search_id, min(shown.position) as position
  from analysis.known_on(:until::date) as known
  join public.result_domains as shown on shown.search_id = known.search_id
  where shown.domain = :domain
    and shown.position is not null
  group by known.search_id
)
select
  domain, count(*) as shared, count(*) filter (where theirs < mine) as ahead, min(theirs) as best
from (
  select shown.domain, mine.search_id, mine.position as mine, min(shown.position) as theirs
  from mine
  join public.result_domains as shown on shown.search_id = mine.search_id
  where shown.position is not null
    and shown.domain is not null
    and shown.domain <> :domain
  group by shown.domain, mine.search_id, mine.position
) as rivals
group by domain
order by count(*) desc, count(*) filter (where theirs < mine) desc, domain
limit 15;
