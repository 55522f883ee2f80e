-- What each command did to the table of our domains: enough to know, and to restore, every state it ever had.
create table own_domain_changes (
  id bigint generated always as identity primary key,
  changed_at timestamptz not null default now(),
  command text not null,
  change text not null check (change in ('removed', 'added')),
  domain text collate "C" not null,
  label text not null,
  since date,
  until date
);
comment on table own_domain_changes is 'Lines that a command took from the table of our domains or put into it, in order. A changed line is removed as it was and added as it is.';
comment on column own_domain_changes.id is 'Number of the change.';
comment on column own_domain_changes.changed_at is 'When; equal for all lines of one command.';
comment on column own_domain_changes.command is 'What was typed: load, set, end or undo.';
comment on column own_domain_changes.change is 'removed or added.';
comment on column own_domain_changes.domain is 'Domain of the line.';
comment on column own_domain_changes.label is 'Its label.';
comment on column own_domain_changes.since is 'Its first day; null: from the beginning.';
comment on column own_domain_changes.until is 'Its last day; null: to this day.';
comment on table own_domains is 'Our domains, as the command domains was told. A domain without dates is ours for all of its history.';
comment on column own_domains.added_at is 'When the line was first told.';
