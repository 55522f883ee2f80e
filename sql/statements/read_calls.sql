-- Reads an account's finished calls with the versions of their tasks. Locks no rows.
select
  c.id, c.mark, c.outcome, c.washed_at is not null as washed, c.start_seq,
  extract(epoch from c.sent_at)::float8 * 1000 as sent_at_ms, c.start_total, c.credits_reserved,
  least(a.obs_remaining, a.told_least) as least_told, c.class, c.query_id, c.task_id, t.xmin::text as version, t.run_id, t.state, t.attempts, t.ambiguous,
  t.deaths
from calls c
join accounts a on a.id = c.account_id
join tasks t on t.id = c.task_id
where c.id = any(:calls::bigint[])
  and c.account_id = :account
