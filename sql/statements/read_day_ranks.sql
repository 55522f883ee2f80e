-- Reads the positions of the given domains for a query, day by day. Parameters: :query (uuid), :since, :until (date),
-- :domains (text[]).
select observed.run_date as "runDate", result_domains.domain, min(result_domains.position) as position
from (
  select *
  from analysis.observations
  where observations.query_id = :query
    and observations.run_date between :since::date and :until::date
  offset 0
) as observed
join public.result_domains on result_domains.search_id = observed.search_id
where result_domains.domain = any (:domains::text[])
  and result_domains.position is not null
group by observed.run_date, result_domains.domain
order by observed.run_date, result_domains.domain;
