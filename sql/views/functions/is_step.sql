-- True if an observation is new evidence, by the same rule as in analysis.steps.
create or replace function analysis.is_step(
  query uuid, day date, evidence text, fetched_at timestamptz, origin text, api text
) returns boolean
language sql stable parallel safe as $$
  select is_step.evidence = 'bought' or is_step.evidence <> 'not asked' and not exists (
    select
    from analysis.observations as earlier
    where earlier.query_id = is_step.query
      and earlier.run_date < is_step.day
      and earlier.origin = is_step.origin
      and earlier.api = is_step.api
      and earlier.fetched_at >= is_step.fetched_at
  )
$$;
comment on function analysis.is_step(uuid, date, text, timestamptz, text, text) is 'True if an observation counts in analysis.steps. The answer must have been bought for its day, or be newer than all answers from the same origin and API for earlier days.';
