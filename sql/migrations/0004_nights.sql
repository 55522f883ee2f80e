-- What the schedulers know between two ticks, whichever of them is there, and whom they have told what.

create table schedules (
  name text primary key,
  list text not null,
  cron text not null,
  zone text not null,
  missed text not null check (missed in ('latest', 'all', 'skip')),
  overlap text not null check (overlap in ('skip', 'queue', 'merge')),
  enabled boolean not null,
  known_until timestamptz not null,
  seen_at timestamptz not null
);
comment on table schedules is 'Schedules as a scheduler last read them from the file of schedules.';
comment on column schedules.name is 'Name of the schedule.';
comment on column schedules.list is 'Name of the list that it buys.';
comment on column schedules.cron is 'When, as five cron fields.';
comment on column schedules.zone is 'The time zone in which the fields are meant.';
comment on column schedules.missed is 'What becomes of nights at which nobody was there: the latest runs, all run, or they are left out.';
comment on column schedules.overlap is 'What becomes of a night while an older run of the list is going: it is left out, waits, or joins that run.';
comment on column schedules.enabled is 'False: off in the file, refused, or gone from it.';
comment on column schedules.known_until is 'Every time up to here at which it was due has its row in nights.';
comment on column schedules.seen_at is 'When a scheduler last looked at it.';

create index nights_waiting on nights (schedule, due_at) where outcome is null;
create index nights_of_run on nights (run_id);
create index nights_decided on nights (decided_at);

create table notices (
  kind text not null,
  subject text not null,
  told_at timestamptz not null default now(),
  primary key (kind, subject)
);
comment on table notices is 'What was told to MILL_WEBHOOK: the key makes each notice go out once, whoever sees it first.';
comment on column notices.kind is 'run_finished, stop, night_missed, night_skipped, night_late, night_failed or night_overdue.';
comment on column notices.subject is 'The run, the stop, or the schedule and its time.';
comment on column notices.told_at is 'When somebody took it upon himself to tell it.';
