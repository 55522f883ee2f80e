-- What a schedule will cost is foreseen from the tables alone: by whoever asks, on whatever host.

alter table schedules
  add column max_age_ms bigint check (max_age_ms >= 0),
  add column budget bigint check (budget >= 0);
comment on column schedules.max_age_ms is 'An answer younger than this many milliseconds is reused; null: as the settings say.';
comment on column schedules.budget is 'Most credits for one night; null: no limit of its own.';
