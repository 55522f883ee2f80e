-- Locks the accounts that may be buying the same query, in order of id.
select
from accounts as a
where a.id = :account
  or (
    a.kind = (select kind from accounts where id = :account)
    and exists (
      select
      from workers w
      where w.account_id = a.id and w.stopped_at is null and w.lease_until > clock_timestamp()
    )
  )
order by a.id
for no key update of a
