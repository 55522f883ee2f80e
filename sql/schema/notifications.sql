-- Notices sent by webhook, and undocumented fields that were reported.

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
comment on table notices is 'Notices to MILL_WEBHOOK. The primary key ensures that each event is recorded once, regardless of which process detects it first. Delivery of a notice is retried until the notice is accepted or abandoned.';
comment on column notices.kind is 'Kind of event, such as run_finished, stop, night_overdue or work_unattended.';
comment on column notices.subject is 'Subject of the event: the run, the stop, the alert, the schedule with its due time, or the time since which no worker has been alive.';
comment on column notices.told_at is 'Time at which the receiver accepted the notice. Null if the notice is waiting, was abandoned, or is covered by another notice.';
comment on column notices.id is 'Identifier of the notice. Every attempt sends the same identifier, so that the receiver can recognise duplicates.';
comment on column notices.part_of is 'Notice that also covers this event. For example, a single notice can cover many nights of a schedule.';
comment on column notices.noted_at is 'Time at which the event was recorded.';
comment on column notices.said is 'Text of the notice, on one line.';
comment on column notices.fields is 'Figures about the event, as sent in the notice.';
comment on column notices.tries is 'Number of attempts to send the notice, including the attempt in progress.';
comment on column notices.due_at is 'Earliest time at which the notice is sent: the end of a pause after a failure, or the deadline of the process that is sending the notice.';
comment on column notices.given_up_at is 'Time at which the notice was abandoned.';
comment on column notices.problem is 'Reason for the failure of the last attempt.';

create table answer_fields (
  api text not null,
  place text not null check (place in ('answer', 'result')),
  field text not null,
  run_id bigint not null,
  found_at timestamptz not null default now(),
  primary key (api, place, field)
);
comment on table answer_fields is 'Fields that the API specification does not define, found in the answers of finished runs. analysis.unannounced_fields covers all answers.';
comment on column answer_fields.api is 'API that answered.';
comment on column answer_fields.place is 'Location of the field: answer or result.';
comment on column answer_fields.field is 'Name of the field.';
comment on column answer_fields.run_id is 'Run whose answers first contained the field.';
comment on column answer_fields.found_at is 'Time at which the run''s answers were searched for new fields.';
