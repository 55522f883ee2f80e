-- What analysts need besides the answers: domains of ours and of rivals, curves of clicks, notes, and the sums of finished days.
-- A day is forgotten as soon as anything changes that its sums are made of; views then work it out anew until it is kept again.

create schema if not exists analysis;
comment on schema analysis is 'Views and functions for people who ask. Names and columns stay; new columns come at the end.';

create schema notes;
comment on schema notes is 'What analysts write down: the one place besides scratch that their logins may change.';

create schema scratch;
comment on schema scratch is 'Tables that analysts make for themselves: nothing of the mill reads them.';

create table own_domains (
  domain text collate "C" not null check (
    -- A path is spelled as its pages spell it; a host is in lower case.
    split_part(domain, '/', 1) = lower(split_part(domain, '/', 1))
    and split_part(domain, '/', 1) not in ('', '*.')
    and domain not like 'www._%'
    and domain not like '%/'
  ),
  label text not null,
  since date,
  until date,
  added_at timestamptz not null default now(),
  brand text check (brand <> ''),
  unique nulls not distinct (domain, since),
  check (since <= until)
);
comment on table own_domains is 'Our domains, as the command domains was told. A domain without dates is ours for all of its history.';
comment on column own_domains.domain is 'Domain: a host in lower case without a leading www.; *. in front stands for every host below it and itself, a path behind it for the pages in that folder.';
comment on column own_domains.label is 'What we call it.';
comment on column own_domains.since is 'First day on which it is ours under this label; null: from the beginning.';
comment on column own_domains.until is 'Last day on which it is ours under this label; null: to this day.';
comment on column own_domains.added_at is 'When the line was first told.';
comment on column own_domains.brand is 'Brand that it belongs to; null: what we call it.';

create table rival_domains (
  domain text collate "C" not null check (
    split_part(domain, '/', 1) = lower(split_part(domain, '/', 1))
    and split_part(domain, '/', 1) not in ('', '*.')
    and domain not like 'www._%'
    and domain not like '%/'
  ),
  label text not null,
  since date,
  until date,
  added_at timestamptz not null default now(),
  brand text check (brand <> ''),
  unique nulls not distinct (domain, since),
  check (since <= until)
);
comment on table rival_domains is 'Domains of rivals, as the command domains was told, to be looked at brand by brand.';
comment on column rival_domains.domain is 'Domain, spelled as in own_domains.';
comment on column rival_domains.label is 'What we call it.';
comment on column rival_domains.since is 'First day on which the domain counts as the competitor''s under this label; null: from the beginning.';
comment on column rival_domains.until is 'Last day on which it is the rival''s under this label; null: to this day.';
comment on column rival_domains.added_at is 'When the line was first told.';
comment on column rival_domains.brand is 'Brand that it belongs to; null: what we call it.';

create table own_domain_changes (
  id bigint generated always as identity primary key,
  changed_at timestamptz not null default now(),
  command text not null,
  change text not null check (change in ('removed', 'added')),
  domain text collate "C" not null,
  label text not null,
  since date,
  until date,
  brand text,
  rival boolean not null default false
);
comment on table own_domain_changes is 'Lines that a command took from the tables of our domains and of those of rivals, or put into them, in order. A changed line is removed as it was and added as it is.';
comment on column own_domain_changes.id is 'Number of the change.';
comment on column own_domain_changes.changed_at is 'When; equal for all lines of one command.';
comment on column own_domain_changes.command is 'What was typed: load, set, end or undo.';
comment on column own_domain_changes.change is 'removed or added.';
comment on column own_domain_changes.domain is 'Domain of the line.';
comment on column own_domain_changes.label is 'Its label.';
comment on column own_domain_changes.since is 'Its first day; null: from the beginning.';
comment on column own_domain_changes.until is 'Its last day; null: to this day.';
comment on column own_domain_changes.brand is 'Its brand, where the line names one.';
comment on column own_domain_changes.rival is 'True for a domain of a rival.';

create table ctr_curve (
  curve text not null,
  position integer not null check (position > 0),
  ctr double precision not null check (ctr between 0 and 1),
  primary key (curve, position)
);
comment on table ctr_curve is 'Share of clicks that each place gets. Add a curve of your own and name it in the setting querymill.ctr_curve.';
comment on column ctr_curve.curve is 'Name of the curve; "default" is used unless the setting querymill.ctr_curve names another.';
comment on column ctr_curve.position is 'Place.';
comment on column ctr_curve.ctr is 'Share of clicks, 0 to 1; a place that the curve does not hold gets none.';
insert into ctr_curve
select 'default', row_number() over (), share
from unnest(array[
  0.3120, 0.1600, 0.0620, 0.0400, 0.0280, 0.0200, 0.0160, 0.0130, 0.0105, 0.0087,
  0.0074, 0.0065, 0.0058, 0.0052, 0.0047, 0.0043, 0.0039, 0.0036, 0.0033, 0.0031
]) as share;

create table notes.annotations (
  id bigint generated always as identity primary key,
  date date not null,
  text text not null check (text <> ''),
  tag text not null default '*' check (tag <> ''),
  author text not null default session_user,
  written_at timestamptz not null default now()
);
comment on table notes.annotations is 'What happened on a day, as analysts wrote it: drawn in every trend of the report. They write it with their own logins.';
comment on column notes.annotations.id is 'Number of the note.';
comment on column notes.annotations.date is 'The day that it is about.';
comment on column notes.annotations.text is 'What happened, in few words.';
comment on column notes.annotations.tag is 'The label that it concerns, as in device=mobile or brand; * is every query.';
comment on column notes.annotations.author is 'The login that wrote it: nobody may write or change a note under another name.';
comment on column notes.annotations.written_at is 'When it was written.';
alter table notes.annotations enable row level security;
create policy read_all on notes.annotations for select using (true);
create policy add_own on notes.annotations for insert with check (author = session_user);
create policy change_own on notes.annotations for update using (author = session_user) with check (author = session_user);
create policy remove_own on notes.annotations for delete using (author = session_user);

create table finished_days (
  id bigint generated always as identity primary key,
  run_date date not null unique,
  basis text not null,
  begun_at timestamptz not null default clock_timestamp(),
  made_at timestamptz
);
comment on table finished_days is 'Days whose runs have ended and whose sums are kept. Whatever changes an answer, a run or a task of a day removes its row, and those of later days.';
comment on column finished_days.id is 'Number of this keeping: rows of an earlier one are never mixed with it.';
comment on column finished_days.run_date is 'The day.';
comment on column finished_days.basis is 'What the sums rest on besides the answers, as analysis.basis() told it: kinds of answers, curve of clicks, lines of folders and hosts.';
comment on column finished_days.begun_at is 'When somebody began to add the day up.';
comment on column finished_days.made_at is 'When its sums were there; null: not yet, and nobody reads them.';

create table finished_labels (
  finish_id bigint not null,
  set_id bigint not null,
  labels text[] collate "C" not null,
  queries bigint not null,
  weight double precision not null,
  planned bigint not null,
  planned_weight double precision not null,
  primary key (finish_id, set_id)
);
comment on table finished_labels is 'How many queries of each set of labels were asked and answered on a finished day. Queries with the same labels are one set, so that the sums answer every slice by labels.';
comment on column finished_labels.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_labels.set_id is 'The set of labels, as analysis.set_id numbers it.';
comment on column finished_labels.labels is 'All labels of these queries, those for device, country, language, place and list included.';
comment on column finished_labels.queries is 'Queries of the set with an observation that day.';
comment on column finished_labels.weight is 'Sum of their weights.';
comment on column finished_labels.planned is 'Queries of the set that were to be asked.';
comment on column finished_labels.planned_weight is 'Sum of their weights.';

create table finished_shares (
  finish_id bigint not null,
  domain text collate "C" not null,
  set_id bigint not null,
  ranked bigint not null,
  top_3 bigint not null,
  top_10 bigint not null,
  top_20 bigint not null,
  positions double precision not null,
  clicks double precision,
  primary key (finish_id, domain, set_id)
);
comment on table finished_shares is 'What each domain held of each set of labels on a finished day.';
comment on column finished_shares.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_shares.domain is 'The domain, as the views count it.';
comment on column finished_shares.set_id is 'The set of labels in finished_labels.';
comment on column finished_shares.ranked is 'Queries that the domain ranks for, at any place.';
comment on column finished_shares.top_3 is 'Queries with the domain at 1 to 3.';
comment on column finished_shares.top_10 is 'Queries with the domain at 1 to 10.';
comment on column finished_shares.top_20 is 'Queries with the domain at 1 to 20.';
comment on column finished_shares.positions is 'Sum of its best places.';
comment on column finished_shares.clicks is 'Sum of weight times share of clicks at its best places; null where the curve ends before all of them.';

create table finished_queries (
  finish_id bigint not null,
  query_id uuid not null,
  set_id bigint not null,
  primary key (finish_id, query_id)
);
comment on table finished_queries is 'Which set of labels each query of a finished day belongs to: a slice is looked up here instead of in lists and their history.';
comment on column finished_queries.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_queries.query_id is 'The query.';
comment on column finished_queries.set_id is 'The set of labels in finished_labels.';

create table finished_steps (
  finish_id bigint not null,
  query_id uuid not null,
  search_id bigint not null,
  fetched_at timestamptz not null,
  previous_search_id bigint,
  volatility double precision,
  depth integer not null,
  previous_depth integer,
  previous_run_date date,
  compared_depth integer,
  entered integer,
  left_top_10 integer,
  stayed integer,
  switched text[],
  came bigint[],
  went bigint[],
  primary key (finish_id, query_id)
);
comment on table finished_steps is 'Each new answer of a finished day beside the answer before it.';
comment on column finished_steps.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_steps.query_id is 'The query.';
comment on column finished_steps.search_id is 'The answer.';
comment on column finished_steps.fetched_at is 'When the answer was received.';
comment on column finished_steps.previous_search_id is 'The answer before; null for the first.';
comment on column finished_steps.volatility is 'How much the two differ, from 0 (the same) to 1 (nothing stayed); null where they cannot be compared.';
comment on column finished_steps.depth is 'Greatest position in the answer.';
comment on column finished_steps.previous_depth is 'Greatest position in the answer before; null for the first.';
comment on column finished_steps.previous_run_date is 'Day of the answer before; null for the first.';
comment on column finished_steps.compared_depth is 'Places that both show; null where they cannot be compared.';
comment on column finished_steps.entered is 'Pages that came into the first ten.';
comment on column finished_steps.left_top_10 is 'Pages that left the first ten.';
comment on column finished_steps.stayed is 'Pages in the first ten of both.';
comment on column finished_steps.came is 'Pages that came into places 1 to 10, each as a number made of its address; null: none, or no answer before.';
comment on column finished_steps.went is 'Pages that left places 1 to 10, as in came.';
comment on column finished_steps.switched is 'Domains with several pages in the two answers whose best page is another one than before; null: none.';

create table finished_keywords (
  finish_id bigint not null,
  query_id uuid not null,
  run_date date,
  search_id bigint,
  depth integer,
  weight double precision not null,
  labels text[] not null,
  features text[] not null,
  domain text collate "C",
  position bigint,
  page_id uuid,
  rivals text[] not null,
  primary key (finish_id, query_id)
);
comment on table finished_keywords is 'Every keyword as of a finished day, with the best place of our domains in its last known answer: what tables of keywords are sorted and filtered by. Kept for the newest hundred days.';
comment on column finished_keywords.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_keywords.query_id is 'The query.';
comment on column finished_keywords.run_date is 'Day of its last known answer; null without an answer in the month before.';
comment on column finished_keywords.search_id is 'That answer.';
comment on column finished_keywords.depth is 'Greatest position in the answer.';
comment on column finished_keywords.weight is 'Weight of the query in its lists; 1 where none names one.';
comment on column finished_keywords.labels is 'Labels of the query, as in analysis.query_labels.';
comment on column finished_keywords.features is 'Kinds of blocks in the answer.';
comment on column finished_keywords.domain is 'Our domain at the best place; null: none of ours is in the answer.';
comment on column finished_keywords.position is 'The best place of our domains.';
comment on column finished_keywords.page_id is 'The page at that place.';
comment on column finished_keywords.rivals is 'Domains of rivals in the answer.';

create table finished_keyword_days (
  finish_id bigint primary key,
  id bigint generated always as identity,
  basis text not null
);
comment on table finished_keyword_days is 'Finished days of which finished_keywords has every keyword.';
comment on column finished_keyword_days.finish_id is 'The keeping in finished_days.';
comment on column finished_keyword_days.id is 'Number of this storing: what was read of it stays true as long as it is there.';
comment on column finished_keyword_days.basis is 'The lines of our domains and of rivals that it rests on, as analysis.keyword_basis() told them.';

-- What a question about one page begins with. An index on pages of results would be written for each result of each answer;
-- this has a row for each page of a query, the first time it is seen.
create table seen_pages (
  page_id uuid not null,
  query_id uuid not null,
  primary key (page_id, query_id)
);
comment on table seen_pages is 'Pages that answers of finished days showed, with the queries that they answered: all of them, and perhaps some that a later reading took back. Where a page stood and when is asked of the answers to these queries.';
comment on column seen_pages.page_id is 'The page.';
comment on column seen_pages.query_id is 'The query.';

create function forget_days(since date) returns void language sql as $$
  -- What an answer says of the one before it changes with that one: later days go as well.
  delete from finished_days where run_date >= since
$$;

-- While a run is open nobody keeps its day, so that storing its answers finds nothing to forget. Answers that come late do.
-- A worker's connection keeps the plan for hours: made while there were few tasks, it would go on to read them all when there
-- are millions. By keys, whatever the planner thinks.
create function forget_days_of_answers() returns trigger
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  perform forget_days(runs.run_date)
  from (
    select min(runs.run_date) as run_date
    from fresh
    join tasks on tasks.id = fresh.task_id
    join runs on runs.id = tasks.run_id
  ) as runs;
  return null;
end
$$;
create trigger answers_came after insert on searches
  referencing new table as fresh
  for each statement execute function forget_days_of_answers();

-- An answer that changes or goes may have served other days than its own. What leaves for the archive, or comes back from it,
-- says what it said: sums stay. Other changes take the sums of all days with them, but those of archived days, which nothing in
-- the tables could make again.
create function forget_all_days() returns trigger language plpgsql as $$
begin
  if current_setting('querymill.archiving', true) = 'on' then
    return null;
  end if;
  delete from finished_days
  where not exists (select from archived_days where archived_days.run_date = finished_days.run_date);
  return null;
end
$$;
create trigger answers_changed after update on searches
  for each statement execute function forget_all_days();
create trigger answers_went after delete or truncate on searches
  for each statement execute function forget_all_days();
create trigger results_went after update or delete or truncate on organic_results
  for each statement execute function forget_all_days();

create function forget_days_of_run() returns trigger language plpgsql as $$
begin
  perform forget_days(least(old.run_date, new.run_date));
  return null;
end
$$;
create trigger run_came after insert on runs
  for each row execute function forget_days_of_run();
create trigger run_changed after update of run_date, state, suspect, created_at, list_id on runs
  for each row
  when (
    (old.run_date, old.state, old.suspect, old.created_at, old.list_id)
    is distinct from (new.run_date, new.state, new.suspect, new.created_at, new.list_id)
  )
  execute function forget_days_of_run();
create trigger run_went after delete on runs
  for each row execute function forget_days_of_run();

-- An answer that is quarantined or released may have served every later day.
create function forget_days_of_quarantine() returns trigger language plpgsql as $$
begin
  perform forget_days(min(runs.run_date))
  from changed
  join runs on runs.id = changed.run_id;
  return null;
end
$$;
create trigger answers_quarantined after insert on quarantine
  referencing new table as changed
  for each statement execute function forget_days_of_quarantine();
create trigger answers_released after delete on quarantine
  referencing old table as changed
  for each statement execute function forget_days_of_quarantine();

create function forget_days_of_task() returns trigger language plpgsql as $$
begin
  perform forget_days(runs.run_date) from runs where runs.id = old.run_id;
  return null;
end
$$;
create trigger task_went after delete on tasks
  for each row execute function forget_days_of_task();
-- Which older answer stands in for a query is the only thing in the row of its task that the sums of a day are made of.
create trigger task_reused after update on tasks
  for each row
  when (
    (old.state in ('reused', 'not_asked') or new.state in ('reused', 'not_asked'))
    and (old.state, old.search_id) is distinct from (new.state, new.search_id)
  )
  execute function forget_days_of_task();

-- Labels name the list, those of archived days as well.
create function forget_renamed_days() returns trigger language plpgsql as $$
begin
  delete from finished_days;
  return null;
end
$$;
create trigger list_renamed after update of name on lists
  for each row
  when (old.name is distinct from new.name)
  execute function forget_renamed_days();
