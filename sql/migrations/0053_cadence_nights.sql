-- What each night of an adaptive list let rest, and what the queries drawn by chance said of it: the receipt.

create table cadence_nights (
  list_id bigint not null,
  run_date date not null,
  decided_at timestamptz not null default clock_timestamp(),
  longest_days integer not null,
  queries integer not null,
  due integer not null,
  by_chance integer not null,
  rested integer not null,
  intervals integer[] not null,
  primary key (list_id, run_date)
);
comment on table cadence_nights is 'What was decided for each night of a list with an adaptive schedule.';
comment on column cadence_nights.list_id is 'The list.';
comment on column cadence_nights.run_date is 'The night.';
comment on column cadence_nights.decided_at is 'When it was decided.';
comment on column cadence_nights.longest_days is 'Longest interval that the schedule allowed.';
comment on column cadence_nights.queries is 'Queries of the list as it was last read.';
comment on column cadence_nights.due is 'Of these, queries whose turn it was.';
comment on column cadence_nights.by_chance is 'Queries that could rest and were drawn by chance to be asked.';
comment on column cadence_nights.rested is 'Queries that rested.';
comment on column cadence_nights.intervals is 'How many queries had an interval of 1 day, of 2 days and so on.';

create table cadence_draws (
  list_id bigint not null,
  run_date date not null,
  query_id uuid not null,
  moves integer,
  primary key (list_id, run_date, query_id)
);
comment on table cadence_draws is 'Queries that could rest and were drawn by chance to be asked: what they hid is what those that rested hide.';
comment on column cadence_draws.list_id is 'The list.';
comment on column cadence_draws.run_date is 'The night.';
comment on column cadence_draws.query_id is 'The query.';
comment on column cadence_draws.moves is 'Pages that had entered or left the first ten since it was asked before; null: not compared yet, or it was not answered.';
