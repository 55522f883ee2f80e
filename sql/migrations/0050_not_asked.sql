-- Queries that a night does not ask: wishes of the list, the state of their tasks, and when an adaptive schedule asks next.

alter table list_queries
  add column every_days integer check (every_days > 0),
  add column max_age_ms bigint check (max_age_ms >= 0);
comment on column list_queries.every_days is 'Nights ask the query once in so many days; the least of merged lines. Null: the list says nothing.';
comment on column list_queries.max_age_ms is 'Nights reuse an answer to the query that is younger than this, whatever the run says; the least of merged lines. Null: the list says nothing.';

-- A wider check holds for all rows that the narrower one held for: none of them has to be read again.
alter table tasks
  drop constraint tasks_state_check,
  add constraint tasks_state_check
    check (state in ('open', 'answered', 'reused', 'not_asked', 'failed', 'unknown', 'unaffordable', 'cancelled'))
    not valid;
comment on column tasks.state is 'open, answered, reused, not_asked (the list or its cadence lets the query rest in this run, and its last answer stands in), failed (a verdict that will not change), unknown (perhaps charged, tries used up or held), unaffordable (the budget of its run was spent) or cancelled.';
comment on column tasks.search_id is 'The answer: the first one received since the task was last opened, the one reused, or the last one of a query that was not asked. Null while there is none.';

-- Which older answer stands in for a query that was not asked is part of the sums of a day, as that of a reused one is.
drop trigger task_reused on tasks;
create trigger task_reused after update on tasks
  for each row
  when (
    (old.state in ('reused', 'not_asked') or new.state in ('reused', 'not_asked'))
    and (old.state, old.search_id) is distinct from (new.state, new.search_id)
  )
  execute function forget_days_of_task();

alter table schedules
  add column adaptive_days integer check (adaptive_days > 0);
comment on column schedules.adaptive_days is 'Longest interval in days that an adaptive schedule lets a query rest; null: it asks every query each night.';

create table cadences (
  list_id bigint not null,
  query_id uuid not null,
  decided_on date not null,
  interval_days integer not null check (interval_days > 0),
  due_on date not null,
  by_chance boolean not null,
  why text not null,
  primary key (list_id, query_id)
);
comment on table cadences is 'For each query of a list with an adaptive schedule, how often it is asked and when next: the newest decision.';
comment on column cadences.list_id is 'The list.';
comment on column cadences.query_id is 'The query.';
comment on column cadences.decided_on is 'Run date of the night for which it was decided.';
comment on column cadences.interval_days is 'Days from one asking to the next.';
comment on column cadences.due_on is 'Run date on which the query is to be asked next.';
comment on column cadences.by_chance is 'True when that night asks it although it is not due: a share drawn by chance, so that what rest misses is measured.';
comment on column cadences.why is 'Why this interval, in a sentence.';
