-- Nights on which nothing was bought.
create or replace view analysis.idle_nights as
select
  nights.run_date,
  coalesce(schedules.list, nights.schedule) as list,
  nights.outcome,
  coalesce(nights.note, 'the night was ' || nights.outcome) as why
from nights
left join schedules on schedules.name = nights.schedule
where nights.outcome in ('missed', 'skipped', 'failed')
  and nights.run_id is null
  and not exists (
    select
    from runs
    join lists on lists.id = runs.list_id
    where runs.run_date = nights.run_date
      and lists.name = coalesce(schedules.list, nights.schedule)
  );
comment on view analysis.idle_nights is 'Nights on which a schedule was due, but neither its run nor another run of the list bought any answers.';
comment on column analysis.idle_nights.outcome is 'Outcome of the night: missed, skipped or failed.';
comment on column analysis.idle_nights.why is 'Reason why nothing was bought.';
