-- Identity of this database, and the version of its definitions.

create table installation (
  id uuid primary key default gen_random_uuid(),
  created_at timestamptz not null default now()
);
comment on table installation is 'Identity of this database, in a single row. A reply in the write-ahead log is stored only in the database that recorded its call.';
comment on column installation.id is 'Identifier of this database, created with the tables.';
comment on column installation.created_at is 'Time at which the tables were created.';
insert into installation default values;

create table view_files (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
comment on table view_files is 'Views and functions whose definitions have been applied to this database.';
comment on column view_files.name is 'Name of the file under sql/views, without its extension.';
comment on column view_files.checksum is 'Hexadecimal SHA-256 of the file together with the shared column comments.';
comment on column view_files.applied_at is 'Time at which the definition was applied.';
