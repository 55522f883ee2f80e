-- What is to come and what it will cost, as it was last computed.
create or replace view analysis.outlook as
select
  accounts.name as account,
  accounts.kind as origin,
  outlooks.made_at,
  date_trunc('second', now() - outlooks.made_at) as age,
  steps.step,
  steps.kind,
  steps.name,
  nullif(steps.list, '') as list,
  steps.at,
  steps.asked,
  steps.fresh,
  steps.bought,
  steps.credits,
  steps.worst,
  coalesce(steps.after, outlooks.balance) as after,
  steps.cut,
  steps.sure,
  coalesce(steps.floor_at, case when steps.step is null then outlooks.floor_at end) as floor_at,
  outlooks.missing
from outlooks
join accounts on accounts.id = outlooks.account_id
left join outlook_steps as steps on steps.account_id = outlooks.account_id
where outlooks.made_at is not null;
comment on view analysis.outlook is 'Expected cost of open runs and coming nights, and the time at which the credit floor is reached, as workers and schedulers last computed it: every five minutes while one runs, and by npm run outlook -- --keep. Check age first: later changes are not included. An account for which nothing is open or scheduled, or of which balance or prices are unknown, has one row without a step. npm run outlook computes it anew.';
comment on column analysis.outlook.account is 'Name of the account.';
comment on column analysis.outlook.origin is 'live or sandbox.';
comment on column analysis.outlook.made_at is 'When it was computed.';
comment on column analysis.outlook.age is 'How long ago that was.';
comment on column analysis.outlook.step is 'Place in the order of time; null: there is nothing to come, or nobody can tell.';
comment on column analysis.outlook.kind is 'run (open then), night or renewal.';
comment on column analysis.outlook.name is 'Number of the run, or name of the schedule.';
comment on column analysis.outlook.list is 'The list that it buys.';
comment on column analysis.outlook.at is 'When it begins.';
comment on column analysis.outlook.asked is 'Queries to be bought.';
comment on column analysis.outlook.fresh is 'Queries whose answers will be young enough.';
comment on column analysis.outlook.bought is 'Of the asked, those that budgets and floor let through.';
comment on column analysis.outlook.credits is 'What they cost at the prices paid lately.';
comment on column analysis.outlook.worst is 'What they cost at the dearest price paid lately.';
comment on column analysis.outlook.after is 'Credits left after it.';
comment on column analysis.outlook.cut is 'What keeps the rest back: budget (its own), list, day, month or floor; null: nothing.';
comment on column analysis.outlook.sure is 'True when it fits at the dearest price paid lately as well.';
comment on column analysis.outlook.floor_at is 'Time at which the credit floor is reached.';
comment on column analysis.outlook.missing is 'What nobody knows yet: balance or prices.';
