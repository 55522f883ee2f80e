-- Reads the first day with answers in a period. Returns the period's first day if that
-- day or the 30 days before it have answers. Parameters: :since, :until (date).
select case
  -- Applies the condition of analysis.known_on without computing its rows.
  when exists (
    select
    from analysis.label_days
    where tag = '*'
      and queries > 0
      and run_date > :since::date - 31
      and run_date <= :since::date
      and run_date not in (select away_days.run_date from analysis.away_days)
  ) then :since::date
  else coalesce(
    (
      -- Days are sorted before any answers are looked up, because the first day usually has answers.
      select days.run_date
      from (
        select distinct run_date
        from runs
        where run_date between :since::date and :until::date
          and run_date not in (select away_days.run_date from analysis.away_days)
        order by run_date
        offset 0
      ) as days
      -- Because of the limit, the plan does not read all answers at once.
      cross join lateral (
        select
        from runs
        join tasks on tasks.run_id = runs.id
        join searches on searches.id = tasks.search_id
        where runs.run_date = days.run_date
          and searches.parse_error is null
          and searches.origin = any ((select analysis.origins())::text[])
          and (not searches.archived or searches.id in (select search_id from public.loaded_answers))
        limit 1
      ) as answer
      order by days.run_date
      limit 1
    ),
    :since::date
  )
end as since;
