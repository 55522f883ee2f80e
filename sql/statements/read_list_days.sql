-- Reads the coverage and cost of a list, day by day, newest first. Parameters: :name (of the list), :since, :until
-- (date).
select
  (
    select max(runs.id)
    from runs
    join lists on lists.id = runs.list_id
    where lists.name = :name
      and runs.run_date = coverage.run_date
  ) as run,
  coverage.run_date as "runDate", coverage.planned, coverage.answered, coverage.bought, coverage.reused,
  coverage.not_asked as "notAsked",
  coverage.failed, coverage.unknown, coverage.open,
  coverage.unreadable + coverage.suspect + coverage.other_origin + coverage.unaffordable + coverage.cancelled as others,
  (
    select coalesce(sum(runs.spent), 0)
    from runs
    join lists on lists.id = runs.list_id
    where lists.name = :name
      and runs.run_date = coverage.run_date
  ) as credits
from (
  select distinct runs.run_date
  from runs
  join lists on lists.id = runs.list_id
  where lists.name = :name
    and runs.run_date between :since::date and :until::date
) as days
-- One call per day, because with a range the view reads the answers of all days.
cross join lateral (
  select *
  from analysis.coverage
  where coverage.list = :name
    and coverage.run_date = days.run_date
  offset 0
) as coverage
order by coverage.run_date desc;
