-- Reads the version of the stored days in a period. The figures change only if the version changes. The version is null
-- until all days in the period and the last known answers on the compared days are stored. Parameters: :since, :until,
-- :compared (the earlier compared day; date).
select case
  when analysis.slice() is null
    and analysis.keywords_kept(:compared::date, 31) is not null
    and analysis.keywords_kept(:until::date, 31) is not null
    and not exists (
      select
      from analysis.unfinished_days
      where run_date between :since::date and :until::date
    )
    then concat_ws(
      ' ',
      (
        select string_agg(id::text, ',' order by id)
        from finished_days
        where run_date between :since::date and :until::date
      ),
      (
        select string_agg(id::text, ',' order by id)
        from finished_keyword_days
        where finish_id in (analysis.keywords_kept(:compared::date, 31), analysis.keywords_kept(:until::date, 31))
      ),
      (select md5(string_agg(run_date::text, ',' order by run_date)) from analysis.away_days),
      -- Weights can change when a list is read.
      (
        select md5(string_agg(concat_ws(' ', list_id, last_seen, members), ',' order by list_id))
        from (
          select list_id, max(last_seen) as last_seen, count(*) as members
          from list_queries
          group by list_id
        ) as readings
      )
    )
end as version;
