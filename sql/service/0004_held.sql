-- What requests in work have set aside, apart from what was used: a balance never speaks of what others may come to spend.

alter table accounts add column held bigint not null default 0 check (held >= 0);
comment on column accounts.held is 'Credits set aside for requests in work.';
comment on column accounts.used is 'Credits used in the period, without those set aside.';

update accounts
set held = open.reserved, used = accounts.used - open.reserved
from (
  select account_id, period, sum(reserved) as reserved
  from usage
  where credits is null
  group by account_id, period
) as open
where accounts.id = open.account_id
  and accounts.period = open.period;

alter table accounts add constraint accounts_covered check (used + held <= quota);
