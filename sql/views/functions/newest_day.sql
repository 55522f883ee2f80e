-- Newest day that can be compared with earlier days, which is not necessarily the latest day.
create or replace function analysis.newest_day(list text default null) returns date
language sql stable parallel safe cost 100000 as $$
  with chosen as materialized (
    select runs.id, runs.run_date
    from public.runs
    where (
        newest_day.list is null
        or runs.list_id = (select lists.id from public.lists where lists.name = newest_day.list)
      )
      and (not runs.suspect or (select analysis.shows_suspects()))
      and runs.run_date not in (select away_days.run_date from analysis.away_days)
  ),
  nights as materialized (
    select chosen.run_date, sum(counted.planned) as planned
    from chosen
    cross join lateral (
      select coalesce(
        -- If the day has no other runs, its stored sums count the same queries.
        (
          select sum(kept.planned)
          from public.finished_labels as kept
          where kept.finish_id = analysis.finished_on(chosen.run_date)
            and not exists (
              select
              from public.runs as others
              where others.run_date = chosen.run_date
                and others.id <> chosen.id
            )
        ),
        (select count(*) from public.tasks where tasks.run_id = chosen.id)
      ) as planned
    ) as counted
    where chosen.run_date > (select max(run_date) from chosen) - 31
    group by chosen.run_date
    having sum(counted.planned) > 0
  )
  select coalesce(
    (
      select nights.run_date
      -- Days are sorted before any answers are counted, because the newest day usually qualifies.
      from (select * from nights order by nights.run_date desc offset 0) as nights
      -- Usually, the stored sums suffice, and no answers have to be counted.
      where (
        select sum(kept.queries)
        from public.finished_labels as kept
        where kept.finish_id = analysis.finished_on(nights.run_date)
          and newest_day.list is null
      ) * 2 >= (select max(planned) from nights)
        or (
          select count(*)
          from chosen
          join public.tasks on tasks.run_id = chosen.id
          join public.searches on searches.id = tasks.search_id
          where chosen.run_date = nights.run_date
            and searches.parse_error is null
            and searches.origin = any (analysis.origins())
        ) * 2 >= (select max(planned) from nights)
      order by nights.run_date desc
      limit 1
    ),
    (
      select chosen.run_date
      from chosen
      where exists (
        select
        from public.tasks
        join public.searches on searches.id = tasks.search_id
        where tasks.run_id = chosen.id
          and searches.parse_error is null
          and searches.origin = any (analysis.origins())
      )
      order by chosen.run_date desc
      limit 1
    )
  )
$$;
comment on function analysis.newest_day(text) is 'Newest day with enough answers, for all lists together or for one list: at least half the highest number of queries planned on any recent day. Recent days are the newest planned day and the thirty days before it. This rule skips days with a single small list, a failed night or a night in progress. If no day qualifies, the result is the newest day with an answer.';
