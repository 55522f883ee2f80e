-- Days whose answers left for Parquet files: what names an answer, a call or a credit stays, the rows of answers go.

create table archived_days (
  run_date date not null,
  part integer not null check (part > 0),
  folder text not null,
  manifest_sha256 text not null,
  answers bigint not null,
  moved_rows bigint not null,
  bytes bigint not null,
  archived_at timestamptz not null default clock_timestamp(),
  primary key (run_date, part)
);
comment on table archived_days is 'Days whose answers are in the archive. A row is written in the transaction that removes the rows of the day, and goes in the one that brings them back.';
comment on column archived_days.run_date is 'The day.';
comment on column archived_days.part is '1; a later one holds what a younger day still used when the first was written, or what came after it.';
comment on column archived_days.folder is 'Folder of the archive when it was written.';
comment on column archived_days.manifest_sha256 is 'Hex sha256 of the manifest, which holds that of each file.';
comment on column archived_days.answers is 'Answers of the day that left with it.';
comment on column archived_days.moved_rows is 'Rows that were removed from the tables.';
comment on column archived_days.bytes is 'Bytes of its files.';
comment on column archived_days.archived_at is 'When it was written.';

create table loaded_days (
  run_date date primary key
);
comment on table loaded_days is 'Always empty: a question over the archive adds a temporary table of its own to it, with the archived days that it has read.';
comment on column loaded_days.run_date is 'The day.';

create table loaded_answers (
  search_id bigint primary key
);
comment on table loaded_answers is 'Always empty: a question over the archive adds a temporary table of its own to it, with the archived answers that it has read.';
comment on column loaded_answers.search_id is 'The answer.';
