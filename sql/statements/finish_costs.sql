-- Stores the cost of a day's answers. The day's labels and steps must already be stored.
insert into finished_costs
  (finish_id, list, set_id, tags, calls, credits_used, answers, changed, unknown_calls, credits_unknown, credits_lost)
select
  :finish::bigint, members.list, kept.set_id, members.tags,
  sum(spent.calls), sum(spent.credits_used), sum(found.answers),
  sum(found.changed) filter (where found.answers > 0),
  sum(spent.unknown_calls), sum(spent.credits_unknown), sum(spent.credits_lost)
from analysis.memberships as members
join finished_queries as kept on kept.finish_id = :finish::bigint and kept.query_id = members.query_id
cross join lateral (
  select
    count(*) filter (where outcome is distinct from 'unsent') as calls,
    coalesce(sum(calls.credits_used), 0) as credits_used,
    count(*) filter (where outcome = 'unknown') as unknown_calls,
    coalesce(sum(credits_reserved) filter (where outcome = 'unknown'), 0) as credits_unknown,
    coalesce(sum(calls.credits_used) filter (where searches.id is null or searches.parse_error is not null), 0)
      as credits_lost
  from calls
  left join searches on searches.call_id = calls.id
  where calls.task_id = members.task_id
) as spent
cross join lateral (
  select count(*) as answers, count(*) filter (where steps.volatility > 0) as changed
  from searches
  -- Steps are looked up by key. Because there are no statistics for the new day yet, a join would read all of that
  -- day's steps for each task.
  left join lateral (
    select volatility
    from finished_steps
    where finished_steps.finish_id = :finish::bigint
      and finished_steps.query_id = searches.query_id
      and finished_steps.search_id = searches.id
    offset 0
  ) as steps on true
  where searches.task_id = members.task_id
    and searches.parse_error is null
    and searches.origin = any ((select analysis.origins())::text[])
) as found
where members.run_date = :day::date
group by members.list, kept.set_id, members.tags
