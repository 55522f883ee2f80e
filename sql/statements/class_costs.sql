-- Reads the prices of each price class: the highest price so far, and the average price over the account's newest
-- calls. Parameters: :account, :newest (number of calls).
select
  account_costs.class,
  account_costs.dearest,
  recent.average::double precision as average
from account_costs
left join (
  select class, avg(credits_used) as average
  from (
    select class, credits_used
    from calls
    where account_id = :account
      and outcome = 'settled'
      and http_status = 200
      and credits_used is not null
    order by id desc
    limit :newest
  ) as newest_calls
  group by class
) as recent using (class)
where account_id = :account
  and account_costs.seen > 0
  and account_costs.dearest is not null
