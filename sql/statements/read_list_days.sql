-- Reads the days on which a list has a run, newest first, with their cost. A day's coverage changes only if the day's
-- version changes. The version is null if the day's sums are not stored. Parameters: :name (name of the list), :since,
-- :until (date).
select
  max(runs.id) as run, runs.run_date as "runDate", coalesce(sum(runs.spent), 0) as credits,
  analysis.finished_on(runs.run_date)
    || ' ' || (select md5(coalesce(string_agg(run_date::text, ',' order by run_date), '')) from analysis.away_days)
    as version
from runs
join lists on lists.id = runs.list_id
where lists.name = :name
  and runs.run_date between :since::date and :until::date
group by runs.run_date
order by runs.run_date desc;
