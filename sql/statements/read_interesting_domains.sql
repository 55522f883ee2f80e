-- Reads our own domains on a day, followed by the highest-ranking domains in an answer. Parameters: :day (date),
-- :search (bigint, or null).
select domain, bool_or(ours) as ours
from (
  select domain, true as ours, 0 as position
  from analysis.ours_on(:day::date)
  union all
  select domain, false, position
  from public.result_domains
  where search_id = :search
    and position is not null
    and domain is not null
) as known
group by domain
order by bool_or(ours) desc, max(position), domain
limit 20;
