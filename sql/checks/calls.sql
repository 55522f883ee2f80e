-- Calls and their answers

-- check: each answered call has its answer, unless the tables rejected that answer
select count(*) as violations
from calls c
-- An answered call has a status and no error code; an abandoned call has no status.
where c.error_code is null
  and c.http_status is not null
  and c.outcome in ('settled', 'unknown')
  and not exists (select from searches s where s.call_id = c.id)
  and not exists (select from forgotten_tasks f where f.task_id = c.task_id);

-- check: each answer comes from a call that was answered
select count(*) as violations
from searches s
left join calls c on c.id = s.call_id
where c.id is null or c.query_id <> s.query_id or c.outcome is null or c.outcome = 'unsent';

-- check: each answer has the cost and the balance of its call
select count(*) as violations
from searches s
join calls c on c.id = s.call_id
where c.outcome = 'settled'
  and (
    s.credits_used is distinct from case when not c.estimated then c.credits_used end
    -- If a probe's key belongs to another account, the probe reports the balance of that account.
    or s.credits_remaining is distinct from c.credits_remaining and not (c.probe and c.credits_remaining is null)
  );

-- check: answers, calls and tasks name the same task and query
select count(*) as violations
from calls c
left join searches s on s.call_id = c.id
left join tasks t on t.id = c.task_id
where s.task_id <> c.task_id or t.query_id <> c.query_id;

-- check: each answer was received while its call was in flight
-- The check allows for clocks that are up to five seconds off. An answer may arrive after its call was abandoned.
select count(*) as violations
from searches s
join calls c on c.id = s.call_id
left join raw_answers r on r.call_id = s.call_id
where s.fetched_at is distinct from coalesce(r.received_at, s.fetched_at)
  or s.fetched_at < c.sent_at - interval '5 seconds'
  or (c.unknown_at is null and s.fetched_at > c.finished_at + interval '5 seconds');

-- check: each answer has the same origin as the account of its call
select count(*) as violations
from searches s
join calls c on c.id = s.call_id
join accounts a on a.id = c.account_id
where a.kind <> s.origin;

-- check: each call with a response or an unknown outcome was sent
select count(*) as violations
from calls c
where c.outcome = 'unsent'
  and (
    c.unknown_at is not null
    or c.http_status is not null
    or exists (select from raw_answers r where r.call_id = c.id)
  );

-- check: no query was bought while a recent answer could be reused
-- A reservation and a settlement within the same second may overlap.
select count(*) as violations
from calls c
join accounts a on a.id = c.account_id
join tasks t on t.id = c.task_id
join searches s on s.query_id = c.query_id and s.call_id <> c.id
join calls first on first.id = s.call_id
where c.max_age_ms > 0
  and c.outcome <> 'unsent'
  and s.origin = a.kind
  and (
    first.account_id = c.account_id
    or s.api = (select own.api from searches own where own.call_id = c.id)
  )
  -- An answer could not be reused if the database rejected its rows on arrival.
  and first.error_code is null
  and first.finished_at < c.sent_at - interval '1 second'
  and s.fetched_at > c.sent_at - (c.max_age_ms - 1000) * interval '1 millisecond'
  and (t.answers_after is null or s.fetched_at > t.answers_after);

-- check: no query had two calls in flight when one answer would have served both
select count(*) as violations
from calls c
join searches s on s.call_id = c.id
join calls first on first.query_id = c.query_id and first.id < c.id
join searches f on f.call_id = first.id
where c.max_age_ms > 0
  and c.unknown_at is null
  and first.unknown_at is null
  and first.sent_at <= c.sent_at
  and first.finished_at > c.sent_at
  and (f.api, f.origin) = (s.api, s.origin);

-- check: a task is paid for once, and again only after an unknown outcome or on request
select count(*) as violations
from calls again
join searches s on s.task_id = again.task_id and s.call_id <> again.id
join calls first on first.id = s.call_id
join tasks t on t.id = again.task_id
where again.outcome = 'settled'
  and again.credits_used > 0
  and first.finished_at < again.sent_at
  and first.unknown_at is null
  and (t.answers_after is null or s.fetched_at > t.answers_after);

-- check: a task has at most one call in flight
select count(*) as violations
from (select task_id from calls where outcome is null group by task_id having count(*) > 1) twice;
