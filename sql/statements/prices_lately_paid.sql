-- Reads the expected price and the highest price of each price class, from the last day with a call in that class.
-- Uses the recent days' median share of tasks that failed at no cost, so that one bad night does not make the
-- forecast too low.
with lately as (
  select class, task_id, outcome, credits_used, credits_reserved, sent_at, max(sent_at) over (partition by class) as last
  from (
    select calls.*
    from calls
    join accounts on accounts.id = calls.account_id
    where accounts.name = :account
      and accounts.kind = :origin
      and calls.outcome in ('settled', 'unknown')
    order by calls.id desc
    limit :newest
  ) as newest_calls
),
paid as (
  select
    class,
    -- A task that failed at no cost does not affect the price of answered tasks.
    sum(credits_used) filter (where outcome = 'settled')::float8
      / nullif(count(distinct task_id) filter (where outcome = 'settled' and credits_used > 0), 0) as expected,
    -- Calls with an unknown outcome may have been charged.
    coalesce(max(credits_used), max(credits_reserved)) * count(*)::float8 / count(distinct task_id) as worst
  from lately
  where sent_at > last - interval '20 hours'
  group by class
),
days as (
  select class, percentile_cont(0.5) within group (order by charged) as charged
  from (
    select
      class, count(distinct task_id) filter (where credits_used > 0)::float8 / count(distinct task_id) as charged
    from lately
    where sent_at > last - interval '14 days'
    group by class, floor(extract(epoch from last - sent_at) / 86400)
  ) as each_day
  group by class
)
select class, coalesce(expected * charged, worst) as expected, greatest(expected, worst) as worst
from paid
join days using (class)
