-- Accounts and balances
-- Parameters: :zone (time zone of the budget day), :other_query (prefix of the parse error for an answer to another query).

-- check: the credits reserved by an account match its calls in flight
select count(*) as violations
from accounts a
left join lateral (
  select coalesce(sum(credits_reserved), 0) as bound, count(*) as calls
  from calls c where c.account_id = a.id and c.outcome is null
) held on true
where a.reserved <> held.bound or a.in_flight <> held.calls;

-- check: the credits held by an account match its calls with an unknown outcome
select count(*) as violations
from accounts a
left join lateral (
  select coalesce(sum(credits_reserved), 0) as bound
  from calls c where c.account_id = a.id and c.outcome = 'unknown' and c.washed_at is null
) held on true
where a.uncertain <> held.bound;

-- check: the credits used by an account match its settled calls
select count(*) as violations
from accounts a
left join lateral (
  select coalesce(sum(credits_used), 0) as used
  from calls c where c.account_id = a.id and c.outcome = 'settled'
) paid on true
where a.used_total <> paid.used;

-- check: the credits counted for the day cover the calls that began on that day
-- Calls that began on an earlier day and ended on that day also count, so the counted credits may
-- be higher.
select count(*) as violations
from accounts a
where a.day_spent < (
  select
    coalesce(sum(case c.outcome when 'settled' then c.credits_used when 'unknown' then c.credits_reserved end), 0)
  from calls c
  where c.account_id = a.id
    -- A call that was admitted just before midnight counts toward the previous day.
    and c.sent_at >= a.day::timestamp at time zone :zone::text + interval '5 seconds'
    and c.sent_at < (a.day + 1)::timestamp at time zone :zone::text
);

-- check: the credits counted for the month cover the calls that began in that month
select count(*) as violations
from accounts a
where a.month_spent < (
  select
    coalesce(sum(case c.outcome when 'settled' then c.credits_used when 'unknown' then c.credits_reserved end), 0)
  from calls c
  where c.account_id = a.id and c.sent_at >= a.month_since
);

-- check: the calls of an account are numbered without gaps
select count(*) as violations
from accounts a
left join (
  select account_id, count(*) as calls, count(distinct start_seq) as places, max(start_seq) as last
  from calls
  group by account_id
) c on c.account_id = a.id
where (a.seq, a.seq, a.seq) is distinct from (coalesce(c.calls, 0), coalesce(c.places, 0), coalesce(c.last, 0));

-- check: the balance of an account was reported by an answer
select count(*) as violations
from accounts a
left join calls c on c.account_id = a.id and c.start_seq = a.obs_seq
where a.obs_seq is not null
  and a.obs_remaining is distinct from c.credits_remaining
  -- If the API reported that no credits were left, the balance is treated as 0.
  and not coalesce(a.obs_remaining = 0 and c.error_code is not null, false);

-- check: the credits spent since the newest balance match the calls that ended since then
select count(*) as violations
from accounts a
join calls c on c.account_id = a.id and c.start_seq = a.obs_seq
where c.outcome = 'settled'
  and c.error_code is null
  and c.credits_remaining = a.obs_remaining
  and a.spent_since <> a.used_total - c.start_total - c.credits_used;

-- check: no lower bound on a balance is above a reported balance
-- A bound covers all settled calls whose start number is higher than bound.seq.
select count(*) as violations
from accounts a
cross join lateral (
  values
    (a.told_seq, a.told_least, a.told_untold),
    (a.next_told_seq, a.next_told_least, a.next_told_untold)
) bound (seq, least, untold)
cross join lateral (
  select
    min(c.credits_remaining) as least,
    coalesce(sum(c.credits_used) filter (where c.credits_remaining is null), 0) as untold
  from calls c
  where c.account_id = a.id and c.start_seq > bound.seq and c.outcome = 'settled'
) told
where told.least < coalesce(bound.least, told.least + 1) or told.untold > bound.untold;

-- check: each account counts the answers that named another query
select count(*) as violations
from accounts a
where a.wrong_answers < (
  select count(*)
  from searches s
  join calls c on c.id = s.call_id
  where c.account_id = a.id and starts_with(s.parse_error, :other_query::text)
);

-- check: the prices of each price class match the prices that its answers report
select count(*) as violations
from account_costs p
left join (
  select
    c.account_id, c.class, count(*) as answers, max(c.credits_used) as dearest, min(c.credits_used) as cheapest
  from calls c
  -- The prices of answers whose rows the database rejected also count.
  where (c.error_code is null or c.error_code = 'UNSTORABLE')
    and c.http_status is not null
    and c.outcome = 'settled'
  group by c.account_id, c.class
) told using (account_id, class)
-- If prices were deleted on request, only later prices are compared.
where p.dearest > coalesce(told.dearest, 0)
  or p.cheapest < coalesce(told.cheapest, p.cheapest + 1)
  or p.seen >= told.answers and (p.dearest, p.cheapest) is distinct from (told.dearest, told.cheapest)
  or greatest(p.recent_first, p.earlier_first) > coalesce(p.dearest, 0);

-- check: reservations are no lower than the last prices
-- Only the highest of the last 30 to 60 prices is stored, so the stored price is never below the
-- lowest of the last ten prices.
select count(*) as violations
from account_costs p
where greatest(p.recent_first, p.earlier_first) < (
  select min(newest.credits_used)
  from (
    select c.credits_used
    from calls c
    where c.account_id = p.account_id
      and c.class = p.class
      and (c.error_code is null or c.error_code = 'UNSTORABLE')
      and c.http_status is not null
      and c.outcome = 'settled'
    order by c.id desc
    limit 10
  ) newest
)
and p.seen >= 30;

-- check: no call began that would have crossed the credit floor according to the newest reported balance
select count(*) as violations
from (
  select
    moment.*,
    max(told) over passed as newest,
    max(late_seq) over passed as late
  from (
    select
      c.account_id, c.sent_at as at, c.credits_reserved as bound, w.floor, c.probe,
      null::bigint[] as told,
      case when c.unknown_at is not null and c.credits_remaining is not null then c.start_seq end as late_seq
    from calls c
    join workers w on w.id = c.worker
    union all
    select
      c.account_id, c.finished_at, null, null, null, array[c.start_seq, c.credits_remaining], null
    from calls c
    where c.outcome = 'settled' and c.unknown_at is null and c.credits_remaining is not null
  ) moment
  window passed as (partition by account_id order by at rows between unbounded preceding and 1 preceding)
) begun
join accounts a on a.id = begun.account_id
where a.kind <> 'test'
  and not begun.probe
  and begun.newest[2] - begun.bound < begun.floor
  -- The exact time at which a late answer was read is not recorded.
  and (begun.late is null or begun.late < begun.newest[1]);
