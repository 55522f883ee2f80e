-- Marks a day if one of its compared answers was bought for a different day. The day's steps must already be stored.
update finished_days
set strays = true
where id = :finish::bigint
  and exists (
    select
    from finished_steps as steps
    join searches on searches.id = steps.search_id
    join tasks on tasks.id = searches.task_id
    join runs on runs.id = tasks.run_id
    where steps.finish_id = :finish::bigint
      and runs.run_date <> :day::date
  )
