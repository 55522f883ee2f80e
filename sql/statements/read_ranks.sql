-- Reads the daily positions of each given domain for its nine most important queries. Parameters: :domains
-- (text[]), :since, :until (date).
select domain, query_id as "queryId", q, run_date as "runDate", position, depth
from (
  select
    history.*,
    dense_rank() over (
      partition by domain
      order by (position_count > 0) desc, weight desc, position_count desc, query_id
    ) as place
  from (
    select
      rank_history.*,
      coalesce(weights.weight, 1) as weight,
      count(position) over (partition by rank_history.query_id, domain) as position_count
    from analysis.rank_history
    left join analysis.latest_weights as weights on weights.query_id = rank_history.query_id
    where domain = any (:domains::text[])
      and run_date between :since::date and :until::date
  ) as history
  where position_count > 0
) as ordered
where place <= 9
order by domain, place, run_date;
