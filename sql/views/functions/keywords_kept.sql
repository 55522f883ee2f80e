-- Id of the finished day whose stored keywords contain the last known answers; null if there is no such day.
create or replace function analysis.keywords_kept(day date, most_age integer) returns bigint
language sql stable parallel safe as $$
  select finished_keyword_days.finish_id
  from public.finished_keyword_days
  where finished_keyword_days.finish_id = analysis.finished_on(keywords_kept.day)
    -- Stored keywords cover answers from the last 31 days.
    and keywords_kept.most_age = 31
    -- The stored rows may contain an answer that was archived later.
    and not exists (
      select
      from analysis.away_days
      where away_days.run_date between keywords_kept.day - 30 and keywords_kept.day
    )
$$;
comment on function analysis.keywords_kept(date, integer) is 'Id of the finished day, if finished_keywords contains the last known answer to each query on that day (analysis.known_on); null otherwise.';
