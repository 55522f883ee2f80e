-- How each answer of a finished day differs from the one before it: nights are compared by sums of these rows.

create table finished_steps (
  finish_id bigint not null,
  query_id uuid not null,
  search_id bigint not null,
  fetched_at timestamptz not null,
  previous_search_id bigint,
  volatility double precision,
  depth integer not null,
  previous_depth integer,
  previous_run_date date,
  places integer,
  entered integer,
  left_it integer,
  stayed integer,
  primary key (finish_id, query_id)
);
comment on table finished_steps is 'Each new answer of a finished day beside the answer before it.';
comment on column finished_steps.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_steps.query_id is 'The query.';
comment on column finished_steps.search_id is 'The answer.';
comment on column finished_steps.fetched_at is 'When the answer was received.';
comment on column finished_steps.previous_search_id is 'The answer before; null for the first.';
comment on column finished_steps.volatility is 'How much the two differ, from 0 (the same) to 1 (nothing stayed); null where they cannot be compared.';
comment on column finished_steps.depth is 'Greatest position in the answer.';
comment on column finished_steps.previous_depth is 'Greatest position in the answer before; null for the first.';
comment on column finished_steps.previous_run_date is 'Day of the answer before; null for the first.';
comment on column finished_steps.places is 'Places that both show; null where they cannot be compared.';
comment on column finished_steps.entered is 'Pages that came into the first ten.';
comment on column finished_steps.left_it is 'Pages that left the first ten.';
comment on column finished_steps.stayed is 'Pages in the first ten of both.';

-- What was kept before has no such rows: it is kept again.
delete from finished_days;
