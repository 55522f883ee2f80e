-- What each day holds, over all lists, and whether it can stand beside the days before it.
create or replace view analysis.days as
select
  run_date,
  planned,
  answered,
  most_planned,
  answered * 2 < most_planned as thin,
  suspect
from (
  select
    runs.run_date,
    count(*) as planned,
    count(searches.id) as answered,
    bool_or(runs.suspect) as suspect,
    max(count(*)) over (order by runs.run_date range between interval '30 days' preceding and current row) as most_planned
  from runs
  join tasks on tasks.run_id = runs.id
  left join searches
    on searches.id = tasks.search_id
    and searches.parse_error is null
    and searches.origin = any ((select analysis.origins())::text[])
    and case when searches.archived then (searches.id in (select search_id from public.loaded_answers))::integer else 1 end <> 0
  where runs.run_date not in (select away_days.run_date from analysis.away_days)
  group by runs.run_date
) as counted;
comment on view analysis.days is 'What each day holds, over all lists: a day on which a small list ran, or on which much failed, is thin, and draws a saw where it stands between full ones.';
comment on column analysis.days.planned is 'Queries that were to be asked, over all runs of the day.';
comment on column analysis.days.answered is 'Of these, queries with a readable answer of the chosen origins.';
comment on column analysis.days.most_planned is 'Most that any of the thirty days up to this one was to ask.';
comment on column analysis.days.suspect is 'True when a run of the day is suspect: its answers are left out of shares and trends.';
comment on column analysis.days.thin is 'True when fewer than half of that were answered: shares and averages of the day are of other queries than those around it.';
