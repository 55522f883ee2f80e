-- Runs of lists, with their slices and tasks.

create table runs (
  id bigint generated always as identity primary key,
  -- A list and its run are written by two concurrent transactions, so the foreign key is checked on commit.
  list_id bigint not null references lists deferrable initially deferred,
  run_date date not null,
  kind text not null check (kind in ('manual', 'nightly')),
  state text not null check (state in ('planning', 'open', 'done', 'cancelled')),
  budget bigint check (budget >= 0),
  max_age_ms bigint not null default 0 check (max_age_ms >= 0),
  spent bigint not null default 0 check (spent >= 0),
  uncertain bigint not null default 0 check (uncertain >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  budget_used bigint not null generated always as (spent + uncertain + reserved) stored,
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
create index runs_of_day on runs (run_date);
comment on table runs is 'Runs: one row for each pass over a list. Each list has at most one open manual run.';
comment on column runs.id is 'Identifier of the run.';
comment on column runs.list_id is 'List whose queries the run buys.';
comment on column runs.run_date is 'Run date: the day that the run counts for, in the run''s time zone.';
comment on column runs.kind is 'Kind of run: manual (started by hand) or nightly (started by a schedule).';
comment on column runs.state is 'State of the run: planning, open, done or cancelled.';
comment on column runs.budget is 'Maximum number of credits that the run may use; null if the run has no limit of its own.';
comment on column runs.max_age_ms is 'Maximum age in milliseconds of a stored answer that can be reused. If the age is 0, every query is bought.';
comment on column runs.spent is 'Credits used by the run''s calls with a known cost.';
comment on column runs.uncertain is 'Credits held for the run''s calls with an unknown outcome, because these calls may have been charged.';
comment on column runs.reserved is 'Credits reserved for the run''s calls in flight.';
comment on column runs.budget_used is 'Credits that count toward the budget: spent, uncertain and reserved.';
comment on column runs.rows is 'Number of lines in the file, without the header and blank lines.';
comment on column runs.accepted is 'Number of lines accepted as queries, without duplicates.';
comment on column runs.duplicates is 'Number of lines whose query also appears in an earlier line.';
comment on column runs.rejected is 'Number of lines that could not be used. The reasons are in rejected_lines.';
comment on column runs.created_at is 'Time at which the run was planned.';
comment on column runs.finished_at is 'Time at which the last task ended or the run was cancelled.';
comment on column runs.suspect is 'True if the answers are not trusted, because they differ too much from the answers in earlier runs. The reasons are in night_health.';
comment on column runs.opened_at is 'Time at which tasks in the run were last reopened (npm run retry); null if no task was ever reopened.';
comment on column runs.fields_read_at is 'Time at which the run''s answers were searched for new fields; null if they have not been searched yet, or if no notices about new fields are sent.';

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
comment on table slices is 'Slices of runs. A slice has up to 25 tasks from the same run, all with the same priority. One queue job carries one slice.';
comment on column slices.run_id is 'Run to which the slice belongs.';
comment on column slices.slice is 'Number of the slice within the run.';
comment on column slices.priority is 'Priority of all tasks in the slice.';
comment on column slices.round is 'Number of times that the slice was queued again. The number is part of the queue job''s id.';
comment on column slices.done_at is 'Time at which the last task in the slice ended; null while a task is open.';
comment on column slices.turn is 'Sort key for slices of equal priority from different runs: the run''s expected cost up to and including this slice, divided by the list''s share. Null if lists have no shares.';

-- Each task is updated once, when it ends. The fill factor leaves room for the new row version, so no index is updated.
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
comment on table tasks is 'Tasks: one row for each query in each run. Each task ends in exactly one state.';
comment on column tasks.id is 'Identifier of the task.';
comment on column tasks.run_id is 'Run to which the task belongs.';
comment on column tasks.query_id is 'Query to be answered.';
comment on column tasks.search_id is 'Answer to the task: the first answer received since the task was last opened, the reused answer, or the last answer to a query that was not asked. Null if the task has no answer.';
comment on column tasks.not_before is 'Time before which the task is not retried.';
comment on column tasks.finished_at is 'Time at which the task ended.';
comment on column tasks.slice is 'Slice that contains the task.';
comment on column tasks.priority is 'Priority of the task, from 1 (bought first) to 9 (last).';
comment on column tasks.attempts is 'Number of calls that count as attempts. Calls that received a rate-limit response do not count.';
comment on column tasks.ambiguous is 'Number of calls that may have been charged even though no answer could be read.';
comment on column tasks.deaths is 'Number of workers that died while a call for the task was in flight.';
comment on column tasks.state is 'State of the task: open, answered, reused, not_asked, failed, unknown, unaffordable or cancelled. not_asked: the list or its cadence skips the query in this run, and its last answer is used. failed: the failure is final. unknown: a call may have been charged, and the query is not bought again, because no attempts are left or MILL_UNKNOWN is hold. unaffordable: the budget of the run or of its list was used up.';
comment on column tasks.error_code is 'Code of the last error; null for a task without errors.';
comment on column tasks.error_message is 'Description of the last error, in one sentence.';
comment on column tasks.answers_after is 'Only an answer received after this time may be reused for the task. Set only if the task was reopened to buy its query again, or if the list accepts no older answers.';

create table rejected_lines (
  run_id bigint not null references runs,
  line bigint not null,
  reason text not null,
  content text not null
);
create index rejected_lines_of_run on rejected_lines (run_id, line);
comment on table rejected_lines is 'List lines that could not be used.';
comment on column rejected_lines.run_id is 'Run that read the list.';
comment on column rejected_lines.line is 'Line number in the file, starting at 1.';
comment on column rejected_lines.reason is 'Reason why the line was rejected.';
comment on column rejected_lines.content is 'Beginning of the line.';
