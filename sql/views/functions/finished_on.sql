-- Id of the stored sums for a day; null if the sums must not be used.
create or replace function analysis.finished_on(day date) returns bigint
language sql stable parallel safe as $$
  select finished_days.id
  from public.finished_days
  where finished_days.run_date = finished_on.day
    and finished_days.made_at is not null
    and finished_days.basis = analysis.basis()
    and finished_days.run_date not in (select away_days.run_date from analysis.away_days)
$$;
comment on function analysis.finished_on(date) is 'Id of the stored sums for a day; null if the day has no sums for the current analysis.basis(), or if its answers are in the archive.';
