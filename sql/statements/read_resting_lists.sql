-- Reads the adaptive lists, each with its newest decision and the results of its newest nights.
-- Parameter: :nights (number of nights).
select
  list, max(run_date) as run_date,
  (
    select newest.intervals
    from analysis.cadence_nights as newest
    where newest.list = nights.list
    order by newest.run_date desc
    limit 1
  ) as intervals,
  count(*) as nights, sum(queries) as queries, sum(due + by_chance) as asked, sum(rested) as rested,
  sum(by_chance) as by_chance, coalesce(sum(credits), 0) as credits, coalesce(sum(credits_saved), 0) as credits_saved,
  sum(compared) as compared, sum(moved) as moved
from (
  select *, row_number() over (partition by list order by run_date desc) as nth
  from analysis.cadence_nights
) as nights
where nth <= :nights
group by list
order by list;
