-- Number of queries planned and answered on each day, and whether the day can be compared with earlier days.
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
comment on view analysis.days is 'Number of queries planned and answered on each day, over all lists. A day is thin if, for example, only a small list ran or many queries failed. A thin day cannot be compared with full days.';
comment on column analysis.days.planned is 'Number of queries planned, over all runs on the day.';
comment on column analysis.days.answered is 'Number of planned queries with a readable answer from the selected origins.';
comment on column analysis.days.most_planned is 'Highest number of queries planned on this day or on any of the thirty days before it.';
comment on column analysis.days.suspect is 'True if one of the day''s runs is suspect. The answers from that run are excluded from shares and trends.';
comment on column analysis.days.thin is 'True if answered is less than half of most_planned. On a thin day, shares and averages cover fewer queries than on the neighbouring days.';
