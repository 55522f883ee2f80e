-- Expected steps and their cost, from the last stored forecast.
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
comment on view analysis.forecast is 'Expected cost of open runs and coming nights, and the time at which the credit floor is reached. Running workers and schedulers compute the forecast every five minutes, and npm run forecast -- --keep computes it on request. Check the age column first, because changes since made_at are not included. An account has one row without a step if nothing is open or scheduled, or if its balance or prices are unknown. npm run forecast computes a new forecast.';
comment on column analysis.forecast.account is 'Name of the account.';
comment on column analysis.forecast.origin is 'Origin of the account: live or sandbox.';
comment on column analysis.forecast.made_at is 'Time at which the forecast was computed.';
comment on column analysis.forecast.age is 'Time since the forecast was computed.';
comment on column analysis.forecast.step is 'Number of the step in chronological order; null if no step is expected, or if the balance or prices are unknown.';
comment on column analysis.forecast.kind is 'Kind of step: run (open when the forecast was computed), night or renewal.';
comment on column analysis.forecast.name is 'Number of the run, or name of the schedule.';
comment on column analysis.forecast.list is 'Name of the list whose queries are bought.';
comment on column analysis.forecast.at is 'Time at which the step begins.';
comment on column analysis.forecast.asked is 'Number of queries to be bought.';
comment on column analysis.forecast.fresh is 'Number of queries that will be skipped or will reuse a recent answer.';
comment on column analysis.forecast.bought is 'Number of queries that can be bought without exceeding a budget or crossing the credit floor.';
comment on column analysis.forecast.credits is 'Cost of the step at recent prices.';
comment on column analysis.forecast.worst is 'Cost of the step at the highest recent price.';
comment on column analysis.forecast.after is 'Credits left after the step.';
comment on column analysis.forecast.cut is 'Limit that prevents the remaining queries from being bought: budget (of the step itself), list, day, month or floor. Null if no limit applies.';
comment on column analysis.forecast.sure is 'True if the step is affordable even at the highest recent price.';
comment on column analysis.forecast.floor_at is 'Time at which the credit floor is reached.';
comment on column analysis.forecast.missing is 'Missing input: balance or prices.';
