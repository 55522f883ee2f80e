-- Budgets of an account for a month and of a list for a month.

alter table accounts
  add column month date,
  add column month_spent bigint not null default 0,
  add column month_since timestamptz;
comment on column accounts.month is 'Day on which the month began that month_spent counts: that of the last renewal (MILL_RENEWAL), or the first of the calendar month, in the zone of the settings.';
comment on column accounts.month_spent is 'Credits used in that month, with the bound of each call whose cost is not known.';
comment on column accounts.month_since is 'When that month began to be counted: later than it began where this release or MILL_RENEWAL is younger.';

alter table lists add column budget bigint check (budget >= 0);
comment on column lists.budget is 'Most credits that the runs of the list dated in one calendar month may use together; null: no limit.';
