-- Reads the start of the current period with open tasks but no live worker. Returns no row if
-- the period began less than :for_ms milliseconds ago, or if a notice about the period has already
-- been recorded.
with began as (
  select greatest(
    (select max(coalesce(stopped_at, lease_until)) from workers),
    (select min(greatest(created_at, opened_at)) from runs where state = 'open')
  ) as since
  where exists (select from runs where state = 'open')
    and not exists (
      select from workers where stopped_at is null and lease_until > clock_timestamp()
    )
)
select since
from began
where since < clock_timestamp() - :for_ms * interval '1 millisecond'
  and not exists (
    select from notices where kind = 'work_unattended' and noted_at > since
  )
