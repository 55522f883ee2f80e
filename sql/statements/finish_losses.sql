-- Stores the top 10 positions that were lost by a day, or may still turn out to be. The steps of the day are stored before.
insert into finished_losses
  (finish_id, query_id, domain, base_search_id, base_run_date, base_place, position, confirmed)
select :finish::bigint, query_id, domain, base_search_id, base_run_date, base_place, position, confirmed
from analysis.losses_on(:day::date)
