-- Stores each domain's clicks and number of ranked queries for a day.
insert into finished_shares
  (finish_id, set_id, domain, ranked, top_3, top_10, top_20, positions, clicks)
select :finish::bigint, set_id, domain, ranked, top_3, top_10, top_20, positions, clicks
from analysis.shares_on(:day::date)
