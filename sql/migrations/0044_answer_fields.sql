-- Fields of answers that the interface does not name, written down once for each API, so that a new one is news.

create table answer_fields (
  api text not null,
  place text not null check (place in ('answer', 'result')),
  field text not null,
  run_id bigint not null,
  found_at timestamptz not null default now(),
  primary key (api, place, field)
);
comment on table answer_fields is 'Fields that answers of finished runs carry and that the interface does not name, as far as runs were looked through for news; analysis.drift looks at all answers.';
comment on column answer_fields.api is 'Where the answers were bought.';
comment on column answer_fields.place is 'answer, or result: where the field stands.';
comment on column answer_fields.field is 'Its name.';
comment on column answer_fields.run_id is 'The run in whose answers it was found first.';
comment on column answer_fields.found_at is 'When the run was looked through.';

alter table runs add column fields_read_at timestamptz;
comment on column runs.fields_read_at is 'When its answers were looked through for new fields; null: not yet, or nobody wanted to be told.';
