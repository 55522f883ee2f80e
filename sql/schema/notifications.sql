-- What a webhook is told, and fields of answers that were news once.

create table notices (
  kind text not null,
  subject text not null,
  told_at timestamptz,
  id uuid not null default gen_random_uuid(),
  part_of uuid,
  noted_at timestamptz not null default now(),
  said text not null default '',
  fields jsonb not null default '{}',
  tries integer not null default 0,
  due_at timestamptz not null default now(),
  given_up_at timestamptz,
  problem text,
  primary key (kind, subject)
);
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

create table answer_fields (
  api text not null,
  place text not null check (place in ('answer', 'result')),
  field text not null,
  run_id bigint not null,
  found_at timestamptz not null default now(),
  primary key (api, place, field)
);
comment on table answer_fields is 'Fields that answers of finished runs carry and that the interface does not name, as far as runs were looked through for news; analysis.unannounced_fields looks at all answers.';
comment on column answer_fields.api is 'Where the answers were bought.';
comment on column answer_fields.place is 'answer, or result: where the field stands.';
comment on column answer_fields.field is 'Its name.';
comment on column answer_fields.run_id is 'The run in whose answers it was found first.';
comment on column answer_fields.found_at is 'When the run was looked through.';
