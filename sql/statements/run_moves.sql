-- Reads the largest position changes for the queries in a run on the run date. If own domains are
-- set for that day, only the changes of these domains are read.
with ours as materialized (
  select distinct domain
  from analysis.ours_on(:date::date)
)
select
  m.query_id, m.q, m.domain, m.previous_position as previous, m.previous_run_date as previous_date,
  m.position, m.change,
  coalesce(m.url_key, m.previous_url_key) as page
from analysis.movers_on(:date::date) m
where m.change <> 'same'
  and m.query_id in (select query_id from tasks where run_id = :run)
  and (m.domain in (select domain from ours) or not exists (select from ours))
order by m.places desc, m.q, m.domain
limit 25
