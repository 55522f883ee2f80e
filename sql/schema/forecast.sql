-- Latest forecast and its time, for analysts and metrics.

create table forecasts (
  account_id bigint primary key references accounts,
  asked_at timestamptz not null,
  took_ms bigint not null default 0,
  made_at timestamptz,
  until timestamptz,
  balance bigint,
  observed_at timestamptz,
  floor bigint not null default 0,
  missing text check (missing in ('balance', 'prices')),
  day_credits bigint,
  floor_at timestamptz
);
comment on table forecasts is 'Latest forecast for each account, computed by a worker, by a scheduler or on request.';
comment on column forecasts.account_id is 'Account to which the forecast applies.';
comment on column forecasts.asked_at is 'Time at which the latest computation began. No other process computes the forecast at the same time.';
comment on column forecasts.took_ms is 'Duration of the computation in milliseconds. The longer a computation takes, the less often it is repeated.';
comment on column forecasts.made_at is 'Time at which the figures were computed; null before the first computation.';
comment on column forecasts.until is 'End of the period that the forecast covers.';
comment on column forecasts.balance is 'Balance after all calls in flight are paid for; null if no answer has reported a balance.';
comment on column forecasts.observed_at is 'Time at which an answer reported the balance.';
comment on column forecasts.floor is 'Credit floor.';
comment on column forecasts.missing is 'Missing input (balance or prices) that is required to compute the steps; null if both inputs are known.';
comment on column forecasts.day_credits is 'Number of credits expected to be used in the 24 hours after the forecast; null if unknown.';
comment on column forecasts.floor_at is 'Time at which the credit floor is expected to be reached; null if the floor is not reached within the period.';

create table forecast_steps (
  account_id bigint not null references forecasts on delete cascade,
  step integer not null,
  kind text not null check (kind in ('run', 'night', 'renewal')),
  name text not null,
  list text not null,
  at timestamptz not null,
  asked bigint not null,
  fresh bigint not null,
  bought bigint not null,
  credits bigint not null,
  worst bigint not null,
  after bigint not null,
  cut text check (cut in ('budget', 'list', 'day', 'month', 'floor')),
  sure boolean not null,
  floor_at timestamptz,
  primary key (account_id, step)
);
comment on table forecast_steps is 'Open runs, nights and renewals in the newest forecast, in chronological order.';
comment on column forecast_steps.account_id is 'Account to which the forecast applies.';
comment on column forecast_steps.step is 'Position of the step in chronological order.';
comment on column forecast_steps.kind is 'Kind of step: run (open now), night or renewal.';
comment on column forecast_steps.name is 'Number of the run, or name of the schedule.';
comment on column forecast_steps.list is 'List whose queries are bought in this step.';
comment on column forecast_steps.at is 'Time at which the step begins.';
comment on column forecast_steps.asked is 'Number of queries to be bought.';
comment on column forecast_steps.fresh is 'Number of queries that are not bought, because they are not due or have an answer that is recent enough.';
comment on column forecast_steps.bought is 'Number of the step''s queries that can be bought without exceeding a budget or crossing the credit floor.';
comment on column forecast_steps.credits is 'Cost of the step in credits at recent prices.';
comment on column forecast_steps.worst is 'Cost of the step in credits at the highest recent price.';
comment on column forecast_steps.after is 'Credits left after the step.';
comment on column forecast_steps.cut is 'Limit that prevents the purchase of the remaining queries: budget (of the step itself), list, day, month or floor; null if no limit applies.';
comment on column forecast_steps.sure is 'True if the step stays within all limits even at the highest recent price.';
comment on column forecast_steps.floor_at is 'Time at which the credit floor stops the step; null if the floor does not stop it.';
