-- Reads a run's figures. Queries that were not asked or that reused older answers are excluded. The run counts as
-- paused while none of its queries can be bought, and from its last call until it is reopened.
-- In a run, an account is available from its first to its last call, except during stops. A stop
-- counts as a pause only while no other account can buy the run's queries.
select
  runs.id as run_id, counted.*, paid.*, extract(epoch from runs.finished_at - runs.created_at)::float8 / 60 as minutes,
  paused.minutes as paused_minutes
from runs
cross join lateral (
  select
    count(*) as asked,
    count(*) filter (where searches.parse_error is null and searches.id is not null) as answered,
    count(*) filter (where searches.parse_error is null and searches.result_count = 0) as empty,
    count(*) filter (where searches.parse_error is not null) as unreadable,
    count(*) filter (where starts_with(searches.parse_error, :paid_refusal)) as paid_refusal,
    count(*) filter (where starts_with(searches.parse_error, :other_query)) as other_query,
    avg(searches.depth) filter (where searches.parse_error is null and searches.result_count > 0)::float8 as depth
  from tasks
  left join searches on searches.id = tasks.search_id
  where tasks.run_id = runs.id
    and tasks.state not in ('reused', 'not_asked')
) as counted
cross join lateral (
  select
    avg(calls.credits_used) filter (where searches.id is not null)::float8 as price,
    count(distinct calls.worker) as workers
  from tasks
  join calls on calls.task_id = tasks.id and calls.outcome in ('settled', 'unknown')
  left join searches on searches.call_id = calls.id
  where tasks.run_id = runs.id
    and tasks.state not in ('reused', 'not_asked')
) as paid
cross join lateral (
  with used as (
    select
      calls.account_id,
      tstzrange(min(calls.sent_at), max(greatest(calls.sent_at, calls.finished_at)), '[]') as span,
      max(greatest(calls.sent_at, calls.finished_at)) filter (where calls.sent_at < runs.opened_at) as last_before
    from tasks
    join calls on calls.task_id = tasks.id
    where tasks.run_id = runs.id
    group by calls.account_id
  ),
  accounts as (
    select used.*, coalesce(stopped.times, '{}') as stopped
    from used
    left join lateral (
      -- A stop with an end time does not block calls after that time, even if no worker has lifted
      -- the stop yet.
      select range_agg(tstzrange(stops.since, greatest(stops.since, coalesce(least(stops.cleared_at, stops.until), 'infinity')))) as times
      from stops
      where stops.account_id = used.account_id
        and stops.since < runs.finished_at
    ) as stopped on true
  ),
  pauses as (
    select
      range_agg(stopped) - range_agg(tstzmultirange(span) - stopped)
        + tstzmultirange(
          tstzrange(
            coalesce(max(last_before), runs.created_at),
            greatest(coalesce(max(last_before), runs.created_at), runs.opened_at)
          )
        ) as times
    from accounts
  )
  select coalesce(sum(extract(epoch from upper(pause) - lower(pause))), 0)::float8 / 60 as minutes
  from pauses
  cross join lateral unnest(
    pauses.times * tstzmultirange(tstzrange(runs.created_at, greatest(runs.created_at, runs.finished_at)))
  ) as pause
) as paused
where runs.id = :run
