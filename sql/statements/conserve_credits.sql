-- Sums each account's balance changes by kind. No parameters.
select
  account,
  origin as kind,
  sum(credits) filter (where kind = 'opening') as opening,
  coalesce(-sum(credits) filter (where kind = 'ours'), 0) as used,
  coalesce(-sum(credits) filter (where kind = 'perhaps_ours'), 0) as unknown,
  coalesce(-sum(credits) filter (where kind = 'others'), 0) as unexplained,
  coalesce(sum(credits) filter (where kind = 'top_up'), 0) as added,
  sum(credits) as closing
from analysis.statement
where origin <> 'test'
group by account, origin
order by account;
