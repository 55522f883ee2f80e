create schema notes;
comment on schema notes is 'What analysts write down: the one place besides scratch that their logins may change.';

create table notes.annotations (
  id bigint generated always as identity primary key,
  date date not null,
  text text not null check (text <> ''),
  tag text not null default '*' check (tag <> ''),
  author text not null default current_user,
  written_at timestamptz not null default now()
);
comment on table notes.annotations is 'What happened on a day, as analysts wrote it: drawn in every trend of the report. They write it with their own logins.';
comment on column notes.annotations.id is 'Number of the note.';
comment on column notes.annotations.date is 'The day that it is about.';
comment on column notes.annotations.text is 'What happened, in few words.';
comment on column notes.annotations.tag is 'The label that it concerns, as in device=mobile or brand; * is every query.';
comment on column notes.annotations.author is 'The login that wrote it, unless it said another name.';
comment on column notes.annotations.written_at is 'When it was written.';

create schema scratch;
comment on schema scratch is 'Tables that analysts make for themselves: nothing of the mill reads them.';
