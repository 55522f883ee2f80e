-- What is to come and what it will cost, as it was last computed.
create or replace view analysis.forecast as
select
  accounts.name as account,
  accounts.kind as origin,
  forecasts.made_at,
  date_trunc('second', now() - forecasts.made_at) as age,
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
  coalesce(steps.after, forecasts.balance) as after,
  steps.cut,
  steps.sure,
  coalesce(steps.floor_at, case when steps.step is null then forecasts.floor_at end) as floor_at,
  forecasts.missing
from forecasts
join accounts on accounts.id = forecasts.account_id
left join forecast_steps as steps on steps.account_id = forecasts.account_id
where forecasts.made_at is not null;
comment on view analysis.forecast is 'Expected cost of open runs and coming nights, and the time at which the credit floor is reached, as workers and schedulers last computed it: every five minutes while one runs, and by npm run forecast -- --keep. Check age first: later changes are not included. An account for which nothing is open or scheduled, or of which balance or prices are unknown, has one row without a step. npm run forecast computes it anew.';
comment on column analysis.forecast.account is 'Name of the account.';
comment on column analysis.forecast.origin is 'live or sandbox.';
comment on column analysis.forecast.made_at is 'When it was computed.';
comment on column analysis.forecast.age is 'How long ago that was.';
comment on column analysis.forecast.step is 'Place in the order of time; null: there is nothing to come, or nobody can tell.';
comment on column analysis.forecast.kind is 'run (open then), night or renewal.';
comment on column analysis.forecast.name is 'Number of the run, or name of the schedule.';
comment on column analysis.forecast.list is 'The list that it buys.';
comment on column analysis.forecast.at is 'When it begins.';
comment on column analysis.forecast.asked is 'Queries to be bought.';
comment on column analysis.forecast.fresh is 'Queries whose answers will be young enough.';
comment on column analysis.forecast.bought is 'Of the asked, those that budgets and floor let through.';
comment on column analysis.forecast.credits is 'What they cost at recent prices.';
comment on column analysis.forecast.worst is 'What they cost at the highest recent price.';
comment on column analysis.forecast.after is 'Credits left after it.';
comment on column analysis.forecast.cut is 'What keeps the rest back: budget (its own), list, day, month or floor; null: nothing.';
comment on column analysis.forecast.sure is 'True when it fits at the highest recent price as well.';
comment on column analysis.forecast.floor_at is 'Time at which the credit floor is reached.';
comment on column analysis.forecast.missing is 'What nobody knows yet: balance or prices.';
