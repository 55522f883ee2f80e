// The time in which a run stood still, which its duration is judged without.
import { sql } from '../kysely.ts'

/**
 * Minutes of a run of `runs` in which nothing of it could be bought. An account is available from its first call of the run
 * to its last, while no stop stands. A stop counts where none of the run's accounts was available: of two accounts one may
 * go on while the other stands, or take over hours later. The time between the last call and a reopening counts too.
 */
export const pausedMinutes = sql`
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
      -- A stop with an end of its own holds nobody back after that, also where nobody came to lift it.
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
  ) as pause`
