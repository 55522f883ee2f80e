-- Reads the finished days whose sums the views use, in random order. Skips days for which an
-- answer, or an answer compared with it, is not in the database. No parameters.
select finished_days.id
from finished_days
where finished_days.made_at is not null
  and finished_days.basis = (select analysis.basis())
  and case when (select exists (select from archived_days)) then (
    finished_days.run_date not in (select archived_days.run_date from archived_days)
    and not exists (
      select
      from finished_steps
      join archived_days on archived_days.run_date = finished_steps.previous_run_date
      where finished_steps.finish_id = finished_days.id
    )
    and not exists (
      select
      from runs
      join tasks on tasks.run_id = runs.id and tasks.state in ('reused', 'not_asked')
      join searches on searches.id = tasks.search_id
      join tasks as own on own.id = searches.task_id
      join runs as bought on bought.id = own.run_id
      join archived_days on archived_days.run_date = bought.run_date
      where runs.run_date = finished_days.run_date
    )
  ) else true end
order by random();
