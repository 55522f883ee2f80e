-- Days whose answers were moved to Parquet files. The tables keep the searches, calls and credits.

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
comment on table archived_days is 'Days whose answers are in the archive. A day''s entry is inserted in the transaction that removes the day''s rows, and deleted in the transaction that restores these rows.';
comment on column archived_days.run_date is 'Run date of the archived answers.';
comment on column archived_days.part is 'Part number, starting at 1. Later parts hold rows that did not exist, or were still used by a later day, when part 1 was written.';
comment on column archived_days.folder is 'Archive folder in which the part was written.';
comment on column archived_days.manifest_sha256 is 'Hexadecimal SHA-256 of the manifest. The manifest holds the SHA-256 of each file.';
comment on column archived_days.answers is 'Number of the day''s answers that were moved to this part.';
comment on column archived_days.moved_rows is 'Number of rows that were moved from the tables to this part.';
comment on column archived_days.bytes is 'Total size of the files in the part, in bytes.';
comment on column archived_days.archived_at is 'Time at which the part was written.';

create table loaded_days (
  run_date date primary key
);
comment on table loaded_days is 'This table is always empty. Commands that read the archive put the archived days into a temporary child table.';
comment on column loaded_days.run_date is 'Run date that was read from the archive.';

create table loaded_answers (
  search_id bigint primary key
);
comment on table loaded_answers is 'Empty parent table: a command that reads the archive creates a temporary child table with the archived answers.';
comment on column loaded_answers.search_id is 'Answer that was read from the archive.';
