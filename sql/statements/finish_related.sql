-- Stores the related searches that were suggested for the first time in a day's answers.
insert into finished_related (finish_id, query_id, related_search_id)
select distinct :finish::bigint, observations.query_id, named.related_search_id
from analysis.observations
-- Reads the related searches one answer at a time, because a single join would read all days' answers.
cross join lateral (
  select search_related_searches.related_search_id
  from search_related_searches
  where search_related_searches.search_id = observations.search_id
  offset 0
) as named
where observations.run_date = :day::date
  and not exists (
    select
    from finished_related as earlier
    join finished_days on finished_days.id = earlier.finish_id
    where earlier.query_id = observations.query_id
      and earlier.related_search_id = named.related_search_id
      and finished_days.run_date < :day::date
      and finished_days.made_at is not null
      and finished_days.basis = (select analysis.basis())
  )
