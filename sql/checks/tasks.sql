-- Runs and tasks
-- Parameters: :zone (time zone of the month).

-- check: the credits of each run match its calls
select count(*) as violations
from runs r
left join (
  select t.run_id,
    sum(c.credits_reserved) filter (where c.outcome is null) as reserved,
    sum(c.credits_reserved) filter (where c.outcome = 'unknown') as uncertain,
    sum(c.credits_used) filter (where c.outcome = 'settled') as spent
  from calls c
  join (
    select id, run_id from tasks
    union all
    select task_id, run_id from forgotten_tasks
  ) t on t.id = c.task_id
  group by t.run_id
) sums on sums.run_id = r.id
where r.reserved <> coalesce(sums.reserved, 0)
  or r.uncertain <> coalesce(sums.uncertain, 0)
  or r.spent <> coalesce(sums.spent, 0);

-- check: no run spent more than its budget, apart from calls that cost more than was reserved
select count(*) as violations
from runs r
where r.spent + r.uncertain > r.budget + (
  select coalesce(sum(greatest(0, c.credits_used - c.credits_reserved)), 0)
  from calls c
  join tasks t on t.id = c.task_id
  where t.run_id = r.id and c.outcome = 'settled'
);

-- check: no list spent more than its budget in this month, apart from calls that cost more than was reserved
select count(*) as violations
from (
  select l.id, l.budget, sum(r.spent + r.uncertain) as spent, array_agg(r.id) as runs
  from lists l
  join runs r on r.list_id = l.id
  where l.budget is not null
    and date_trunc('month', r.run_date) = date_trunc('month', clock_timestamp() at time zone :zone::text)
  group by l.id
) used
where used.spent > used.budget + (
  select coalesce(sum(greatest(0, c.credits_used - c.credits_reserved)), 0)
  from calls c
  join tasks t on t.id = c.task_id
  where t.run_id = any(used.runs) and c.outcome = 'settled'
);

-- check: the line counts of each run add up
select count(*) as violations
from runs r
where r.rows <> r.accepted + r.duplicates + r.rejected
  or r.rejected <> (select count(*) from rejected_lines l where l.run_id = r.id);

-- check: no run has more accepted lines than tasks
select count(*) as violations
from runs r
where r.accepted > (select count(*) from tasks t where t.run_id = r.id)
  + (select count(*) from forgotten_tasks f where f.run_id = r.id);

-- check: a run is suspect if and only if its judgement has a reason
select count(*) as violations
from runs r
left join night_health h on h.run_id = r.id
where r.suspect <> (coalesce(cardinality(h.reasons), 0) > 0);

-- check: each task names a known query
select count(*) as violations
from tasks t where not exists (select from queries q where q.id = t.query_id);

-- check: each answered, reused or not asked task has an answer, and no other task has one
select count(*) as violations
from tasks t
left join searches s on s.id = t.search_id
where (t.state in ('answered', 'reused', 'not_asked')) <> (t.search_id is not null)
  or (t.search_id is not null and (s.id is null or s.query_id <> t.query_id));

-- check: a query that was not asked cost nothing, and no answer of a later day is used for it
select count(*) as violations
from tasks t
join runs r on r.id = t.run_id
where t.state = 'not_asked'
  and (
    exists (select from calls c where c.task_id = t.id)
    or exists (
      select
      from searches s
      join tasks own on own.id = s.task_id
      join runs bought on bought.id = own.run_id
      where s.id = t.search_id and bought.run_date > r.run_date
    )
  );

-- check: no task that is open, failed or unknown has an answer that may be used
select count(*) as violations
from tasks t
join searches s on s.task_id = t.id
where t.state in ('open', 'failed', 'unknown')
  and (t.answers_after is null or s.fetched_at > t.answers_after);

-- check: no task has more attempts than its calls allow
-- A call that was abandoned and answered later counts as two attempts, even if the answer reported no price.
select count(*) as violations
from tasks t
left join (
  select
    task_id,
    count(*) + count(*) filter (
      where unknown_at is not null
        and (outcome = 'settled' or exists (select from searches s where s.call_id = calls.id))
    ) as tries,
    count(*) filter (where unknown_at is not null) as unread
  from calls
  where outcome in ('settled', 'unknown')
  group by task_id
) c on c.task_id = t.id
where t.attempts > coalesce(c.tries, 0)
  or t.ambiguous > coalesce(c.unread, 0)
  or t.deaths > coalesce(c.unread, 0);

-- check: a task has an end time if and only if it has ended
select count(*) as violations
from tasks where (state = 'open') <> (finished_at is null);

-- check: no open task belongs to a run that ended
select count(*) as violations
from tasks t join runs r on r.id = t.run_id where t.state = 'open' and r.state in ('done', 'cancelled');

-- check: each open task belongs to a slice that is not done
select count(*) as violations
from tasks t
left join slices s on s.run_id = t.run_id and s.slice = t.slice
where t.state = 'open' and (s.run_id is null or s.done_at is not null);

-- check: each selected related search is in its list and in the run that buys it
select count(*) as violations
from expansions e
where not exists (select from list_queries m where m.list_id = e.list_id and m.query_id = e.query_id)
  or not exists (select from queries q where q.id = e.query_id)
  or (e.run_id is not null and not exists (
    select
    from tasks t
    join runs r on r.id = t.run_id
    where t.run_id = e.run_id and t.query_id = e.query_id and r.list_id = e.list_id
  ));

-- check: each selected related search was named for a query of the previous round
select count(*) as violations
from expansions e
where case
  -- Forgotten queries cannot be checked.
  when e.from_query = uuid '00000000-0000-0000-0000-000000000000' then false
  when e.round = 1 then not exists (
    select
    from list_queries m
    where m.list_id = e.source_list_id and m.query_id = e.from_query
  )
  else not exists (
    select
    from expansions s
    where s.list_id = e.list_id and s.query_id = e.from_query and s.round = e.round - 1
  )
end;
