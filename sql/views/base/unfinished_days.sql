-- Days without stored sums for the current inputs (analysis.basis).
create or replace view analysis.unfinished_days as
select distinct runs.run_date
from runs
where runs.run_date not in (select away_days.run_date from analysis.away_days)
  and not exists (
    select
    from finished_days
    where finished_days.run_date = runs.run_date
      and finished_days.made_at is not null
      and finished_days.basis = (select analysis.basis())
  );
comment on view analysis.unfinished_days is 'Days without stored sums for the current origins, click curve and domain entries. Views compute the values for these days from the answers.';
