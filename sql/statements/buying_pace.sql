-- Computes calls per minute from the account's newest thousand calls. Only the newest 100,000 calls
-- of all accounts are read. Pauses longer than five seconds count as five seconds.
-- Returns null if there are too few calls. Parameters: :account, :origin.
select case when count(*) > 20 then count(*) * 60 / nullif(extract(epoch from sum(least(gap, interval '5 seconds'))), 0) end::float8
  as per_minute
from (
  select finished_at - lag(finished_at) over (order by finished_at) as gap
  from (
    select calls.finished_at
    from calls
    join accounts on accounts.id = calls.account_id
    where accounts.name = :account
      and accounts.kind = :origin
      and calls.outcome = 'settled'
      -- Without this limit, the statement would read all calls if the account had only a few.
      and calls.id > (select max(newest.id) - 100000 from calls as newest)
    order by calls.id desc
    limit 1000
  ) as newest_calls
) as gaps
