-- Notices are kept until they are told or given up, so that a process that ends takes none of them along.

alter table notices
  add column id uuid not null default gen_random_uuid(),
  add column part_of uuid,
  add column noted_at timestamptz not null default now(),
  add column said text not null default '',
  add column fields jsonb not null default '{}',
  add column tries integer not null default 0,
  add column due_at timestamptz not null default now(),
  add column given_up_at timestamptz,
  add column problem text;
-- What was taken before this was told: there was no other state.
update notices set noted_at = told_at;
alter table notices
  alter column told_at drop default,
  alter column told_at drop not null;
create unique index notices_id on notices (id);
create index notices_noted on notices (noted_at);
create index notices_due on notices (due_at) where told_at is null and given_up_at is null and part_of is null;

comment on table notices is 'What is told to MILL_WEBHOOK: the key makes each notice be noted once, whoever sees it first; it waits here until it is told or given up.';
comment on column notices.kind is 'What happened: run_finished, stop, night_overdue, work_unattended and the like.';
comment on column notices.subject is 'The run, the stop, the schedule and its time, or since when nobody works.';
comment on column notices.told_at is 'When the receiver took it; null while it waits, when it was given up, or when another notice tells it.';
comment on column notices.id is 'The same in each try, so that a receiver knows a notice that it already has.';
comment on column notices.part_of is 'The notice that tells this one too: many nights of a schedule are one.';
comment on column notices.noted_at is 'When it was noted.';
comment on column notices.said is 'The line for people.';
comment on column notices.fields is 'Its figures, as they go out.';
comment on column notices.tries is 'How often it was sent, or begun to be.';
comment on column notices.due_at is 'Not sent before: a pause after a failure, or the time that a process has that is sending it.';
comment on column notices.given_up_at is 'When nobody tried any more.';
comment on column notices.problem is 'Why the last try failed.';
