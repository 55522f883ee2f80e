-- Passes over lists: runs, their slices, and a task for each query.

create table runs (
  id bigint generated always as identity primary key,
  -- A list and its run are written in two transactions at the same time: the run looks for its list when it is committed.
  list_id bigint not null references lists deferrable initially deferred,
  run_date date not null,
  kind text not null check (kind in ('manual', 'nightly')),
  state text not null check (state in ('planning', 'open', 'done', 'cancelled')),
  budget bigint check (budget >= 0),
  max_age_ms bigint not null default 0 check (max_age_ms >= 0),
  spent bigint not null default 0 check (spent >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  rows bigint not null default 0,
  accepted bigint not null default 0,
  duplicates bigint not null default 0,
  rejected bigint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  suspect boolean not null default false,
  opened_at timestamptz,
  fields_read_at timestamptz,
  check (rows = accepted + duplicates + rejected)
) with (fillfactor = 50);
create unique index runs_one_manual on runs (list_id) where kind = 'manual' and state in ('planning', 'open');
create index runs_open on runs (id) where state in ('planning', 'open');
create index runs_of_list on runs (list_id, run_date);
-- The runs of a day without reading every run.
create index runs_of_day on runs (run_date);
comment on table runs is 'One pass over a list. At most one manual run of a list is open.';
comment on column runs.id is 'Number of the run.';
comment on column runs.list_id is 'The list that is worked.';
comment on column runs.run_date is 'The day the run counts for, in its zone.';
comment on column runs.kind is 'manual: started by hand; nightly: started by a schedule.';
comment on column runs.state is 'planning, open, done or cancelled.';
comment on column runs.budget is 'Most credits the run may use; null: no limit of its own.';
comment on column runs.max_age_ms is 'An answer younger than this many milliseconds is reused instead of bought; 0 buys all.';
comment on column runs.spent is 'Credits used by calls of the run, with the bound of each call whose cost is not known.';
comment on column runs.reserved is 'Credits set aside for calls of the run that are in flight.';
comment on column runs.rows is 'Lines of the file that hold anything, header not counted.';
comment on column runs.accepted is 'Lines that gave a query.';
comment on column runs.duplicates is 'Lines whose queries earlier lines already gave.';
comment on column runs.rejected is 'Lines that could not be used; rejected_lines says why.';
comment on column runs.created_at is 'When the run was planned.';
comment on column runs.finished_at is 'When its last task ended, or when it was cancelled.';
comment on column runs.suspect is 'True when its answers differ from those of earlier runs in a way that says more about the night than about the results; night_health says why.';
comment on column runs.opened_at is 'When tasks of it were last opened again (npm run retry); null: never.';
comment on column runs.fields_read_at is 'When its answers were looked through for new fields; null: not yet, or nobody wanted to be told.';

create table slices (
  run_id bigint not null references runs,
  slice integer not null,
  priority smallint not null check (priority between 1 and 9),
  round integer not null default 0,
  done_at timestamptz,
  turn double precision,
  primary key (run_id, slice)
) with (fillfactor = 70);
create index slices_open on slices (run_id, slice) where done_at is null;
comment on table slices is 'Up to 25 tasks of one run and one priority, carried by one job of the queue.';
comment on column slices.run_id is 'The run.';
comment on column slices.slice is 'Number of the slice within the run.';
comment on column slices.priority is 'Priority of all its tasks.';
comment on column slices.round is 'Rises each time the slice is queued again; part of the id of its job.';
comment on column slices.done_at is 'When its last task ended; null while one is open.';
comment on column slices.turn is 'Its place among slices of other runs of its priority: what its run is expected to cost up to its end, by the part of a night''s credits that its list is given; null: lists have no parts.';

-- Every task is written once more when it ends. Where its page has room for that, no index is touched.
create table tasks (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  query_id uuid not null,
  search_id bigint,
  not_before timestamptz,
  finished_at timestamptz,
  slice integer not null,
  priority smallint not null default 5 check (priority between 1 and 9),
  attempts smallint not null default 0,
  ambiguous smallint not null default 0,
  deaths smallint not null default 0,
  state text not null default 'open'
    check (state in ('open', 'answered', 'reused', 'not_asked', 'failed', 'unknown', 'unaffordable', 'cancelled')),
  error_code text,
  error_message text,
  answers_after timestamptz,
  unique (run_id, query_id)
) with (fillfactor = 50);
create index tasks_of_slice on tasks (run_id, slice);
comment on table tasks is 'The duty to answer one query in one run. Ends in exactly one state.';
comment on column tasks.id is 'Number of the task.';
comment on column tasks.run_id is 'The run.';
comment on column tasks.query_id is 'The query.';
comment on column tasks.search_id is 'The answer: the first one received since the task was last opened, the one reused, or the last one of a query that was not asked. Null while there is none.';
comment on column tasks.not_before is 'Not tried again before this time.';
comment on column tasks.finished_at is 'When the task ended.';
comment on column tasks.slice is 'The slice that carries it.';
comment on column tasks.priority is '1 is bought first, 9 last.';
comment on column tasks.attempts is 'Calls sent for it that count as a try; being told to slow down is none.';
comment on column tasks.ambiguous is 'Calls that may have been charged although no answer could be read.';
comment on column tasks.deaths is 'Workers that died with a call of this task in flight.';
comment on column tasks.state is 'open, answered, reused, not_asked (the list or its cadence lets the query rest in this run, and its last answer stands in), failed (a verdict that will not change), unknown (perhaps charged, tries used up or held), unaffordable (the budget of its run was spent) or cancelled.';
comment on column tasks.error_code is 'What went wrong last, as one word; null for a task without trouble.';
comment on column tasks.error_message is 'What went wrong last, in a sentence.';
comment on column tasks.answers_after is 'Answers received before this are not used again for it: it was opened to be bought once more, or the list takes none that is older. Null for all others.';

create table rejected_lines (
  run_id bigint not null references runs,
  line bigint not null,
  reason text not null,
  content text not null
);
create index rejected_lines_of_run on rejected_lines (run_id, line);
comment on table rejected_lines is 'Lines of a list that could not be used.';
comment on column rejected_lines.run_id is 'The run that read the list.';
comment on column rejected_lines.line is 'Number of the line in the file, from 1.';
comment on column rejected_lines.reason is 'Why it could not be used.';
comment on column rejected_lines.content is 'The beginning of the line.';
