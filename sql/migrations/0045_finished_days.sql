-- What each finished day came to, label by label, so that a trend reads sums and not every answer of every day. A day is
-- forgotten as soon as anything changes that its sums are made of; the views then work it out anew until it is kept again.

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
  tag text collate "C" not null,
  queries bigint not null,
  weight double precision not null,
  planned bigint not null,
  planned_weight double precision not null,
  primary key (finish_id, tag)
);
comment on table finished_labels is 'How many queries of each label were asked and answered on a finished day.';
comment on column finished_labels.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_labels.tag is 'The label; * holds every query.';
comment on column finished_labels.queries is 'Queries of the label with an observation that day.';
comment on column finished_labels.weight is 'Sum of their weights.';
comment on column finished_labels.planned is 'Queries of the label that were to be asked.';
comment on column finished_labels.planned_weight is 'Sum of their weights.';

create table finished_shares (
  finish_id bigint not null,
  tag text collate "C" not null,
  domain text collate "C" not null,
  ranked bigint not null,
  top_3 bigint not null,
  top_10 bigint not null,
  top_20 bigint not null,
  positions double precision not null,
  clicks double precision,
  primary key (finish_id, tag, domain)
);
comment on table finished_shares is 'What each domain held of each label on a finished day.';
comment on column finished_shares.finish_id is 'The keeping in finished_days; rows without one are thrown away.';
comment on column finished_shares.tag is 'The label; * holds every query.';
comment on column finished_shares.domain is 'The domain, as the views count it.';
comment on column finished_shares.ranked is 'Queries that the domain ranks for, at any place.';
comment on column finished_shares.top_3 is 'Queries with the domain at 1 to 3.';
comment on column finished_shares.top_10 is 'Queries with the domain at 1 to 10.';
comment on column finished_shares.top_20 is 'Queries with the domain at 1 to 20.';
comment on column finished_shares.positions is 'Sum of its best places.';
comment on column finished_shares.clicks is 'Sum of weight times share of clicks at its best places; null where the curve ends before all of them.';

create function forget_days(since date) returns void language sql as $$
  -- What an answer says of the one before it changes with that one: later days go as well.
  delete from finished_days where run_date >= since
$$;

-- While a run is open nobody keeps its day, so that storing its answers finds nothing to forget. Answers that come late do.
create function forget_days_of_answers() returns trigger language plpgsql as $$
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

-- An answer that changes or goes may have served other days than its own.
create function forget_all_days() returns trigger language plpgsql as $$
begin
  delete from finished_days;
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

create function forget_days_of_task() returns trigger language plpgsql as $$
begin
  perform forget_days(runs.run_date) from runs where runs.id = old.run_id;
  return null;
end
$$;
-- Which older answer a task reuses is the only thing in its row that the sums of a day are made of.
create trigger task_reused after update on tasks
  for each row
  when (
    (old.state = 'reused' or new.state = 'reused')
    and (old.state, old.search_id) is distinct from (new.state, new.search_id)
  )
  execute function forget_days_of_task();
create trigger task_went after delete on tasks
  for each row execute function forget_days_of_task();

-- Labels name the list.
create trigger list_renamed after update of name on lists
  for each row
  when (old.name is distinct from new.name)
  execute function forget_all_days();
