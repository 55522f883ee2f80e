-- The forecast as it was last computed, so that analysts and metrics see what the program foresaw, and when.

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
comment on table forecasts is 'What is to come for each account, as a worker, a scheduler or a person last had it computed.';
comment on column forecasts.account_id is 'The account.';
comment on column forecasts.asked_at is 'When somebody last began to compute it: others leave it to them.';
comment on column forecasts.took_ms is 'How long that took: the longer, the more seldom it is done.';
comment on column forecasts.made_at is 'When the figures were computed; null: never yet.';
comment on column forecasts.until is 'How far they look ahead.';
comment on column forecasts.balance is 'Credits when calls on their way are paid; null: no answer told any.';
comment on column forecasts.observed_at is 'When an answer told the balance.';
comment on column forecasts.floor is 'Credits that must stay.';
comment on column forecasts.missing is 'What nobody knows yet, so that there are no steps: balance or prices.';
comment on column forecasts.day_credits is 'Credits that the 24 hours from then on will use; null where nobody knows.';
comment on column forecasts.floor_at is 'When the floor will be met; null: not in the time looked at.';

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
comment on table forecast_steps is 'Open runs, nights and renewals of the last forecast, in the order of time.';
comment on column forecast_steps.account_id is 'The account.';
comment on column forecast_steps.step is 'Place in the order of time.';
comment on column forecast_steps.kind is 'run (open now), night or renewal.';
comment on column forecast_steps.name is 'Number of the run, or name of the schedule.';
comment on column forecast_steps.list is 'The list that it buys.';
comment on column forecast_steps.at is 'When it begins.';
comment on column forecast_steps.asked is 'Queries to be bought.';
comment on column forecast_steps.fresh is 'Queries whose answers will be young enough.';
comment on column forecast_steps.bought is 'Of the asked, those that budgets and floor let through.';
comment on column forecast_steps.credits is 'What they cost at the prices paid lately.';
comment on column forecast_steps.worst is 'What they cost at the dearest.';
comment on column forecast_steps.after is 'Credits left after it.';
comment on column forecast_steps.cut is 'What keeps the rest back: budget (its own), list, day, month or floor; null: nothing.';
comment on column forecast_steps.sure is 'True when it fits at the dearest price paid lately as well.';
comment on column forecast_steps.floor_at is 'When the floor stops it.';
