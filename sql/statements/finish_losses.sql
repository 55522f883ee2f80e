-- Stores the losses of top 10 positions that a day's answers confirm, and losses that are not
-- confirmed yet. The day's steps must already be stored.
insert into finished_losses
  (finish_id, query_id, domain, base_search_id, base_run_date, base_place, position, confirmed)
select :finish::bigint, query_id, domain, base_search_id, base_run_date, base_place, position, confirmed
from analysis.losses_on(:day::date)
