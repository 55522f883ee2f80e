-- What tells this database from every other, and which definitions it has.

create table installation (
  id uuid primary key default gen_random_uuid(),
  created_at timestamptz not null default now()
);
comment on table installation is 'One row: tells this database from every other one, so that an answer kept in a file goes back to where it was paid for.';
comment on column installation.id is 'Made once, when the tables were made.';
comment on column installation.created_at is 'When the tables were made.';
insert into installation default values;

create table view_files (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
comment on table view_files is 'Which definitions of views and functions are in place.';
comment on column view_files.name is 'File under sql/views, without its ending.';
comment on column view_files.checksum is 'Hex sha256 of the file.';
comment on column view_files.applied_at is 'When it was put in place.';
