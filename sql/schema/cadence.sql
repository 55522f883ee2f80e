-- Intervals for the queries in lists with an adaptive schedule, and random samples to estimate missed changes.

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
comment on table cadences is 'Newest cadence decision for each query in a list with an adaptive schedule: the query''s interval, and the date on which the query will be asked next.';
comment on column cadences.list_id is 'List that contains the query.';
comment on column cadences.query_id is 'Query to which the decision applies.';
comment on column cadences.decided_on is 'Run date of the night for which the decision was made.';
comment on column cadences.interval_days is 'Interval: the number of days between two purchases of the query.';
comment on column cadences.due_on is 'Run date on which the query will be asked next.';
comment on column cadences.by_chance is 'True if the query is asked on the night of decided_on before it is due. These queries are drawn at random to estimate how many changes are missed by skipping queries.';
comment on column cadences.why is 'Reason for the interval, in one sentence.';

create table cadence_nights (
  list_id bigint not null,
  run_date date not null,
  decided_at timestamptz not null default clock_timestamp(),
  longest_days integer not null,
  queries integer not null,
  due integer not null,
  by_chance integer not null,
  rested integer not null,
  intervals integer[] not null,
  primary key (list_id, run_date)
);
comment on table cadence_nights is 'Summary of each night''s cadence decisions for lists with an adaptive schedule.';
comment on column cadence_nights.list_id is 'List to which the night belongs.';
comment on column cadence_nights.run_date is 'Run date of the night.';
comment on column cadence_nights.decided_at is 'Time at which the decisions for the night were made.';
comment on column cadence_nights.longest_days is 'Longest interval in days that the schedule allowed.';
comment on column cadence_nights.queries is 'Number of queries in the list when it was last read.';
comment on column cadence_nights.due is 'Number of queries that were due.';
comment on column cadence_nights.by_chance is 'Number of queries that were not due but were selected at random to be asked.';
comment on column cadence_nights.rested is 'Number of queries that were not asked.';
comment on column cadence_nights.intervals is 'Number of queries with each interval: 1 day, 2 days, and so on.';

create table cadence_draws (
  list_id bigint not null,
  run_date date not null,
  query_id uuid not null,
  moves integer,
  primary key (list_id, run_date, query_id)
);
comment on table cadence_draws is 'Queries that were not due, but were asked as a random sample. Changes in the answers to these queries are used to estimate the changes for all queries that were not due.';
comment on column cadence_draws.list_id is 'List that contains the query.';
comment on column cadence_draws.run_date is 'Run date of the night.';
comment on column cadence_draws.query_id is 'Query that was drawn.';
comment on column cadence_draws.moves is 'Number of pages that had entered or left the top ten since the query was last asked. Null if the query was not answered, or if its answer has not been compared yet.';

create table first_tens (
  search_id bigint primary key,
  sight bytea not null
);
comment on table first_tens is 'Top ten pages in answers that were used for cadence decisions. If an answer has no row in this table, its top ten is computed from its results.';
comment on column first_tens.search_id is 'Answer that contains the top ten.';
comment on column first_tens.sight is 'Encoded top ten. The first two bytes hold the depth (10 at most), and the next two bytes hold the number of pages. The first four bytes of each page''s id follow; these bytes are derived from its url_key.';

create function forget_first_tens() returns trigger language plpgsql as $$
begin
  delete from first_tens;
  return null;
end
$$;
create trigger first_tens_went after truncate on searches
  for each statement execute function forget_first_tens();
create trigger first_tens_went after truncate on organic_results
  for each statement execute function forget_first_tens();

create function forget_first_tens_of_answers() returns trigger language plpgsql as $$
begin
  delete from first_tens where search_id = any (array(select id from gone));
  return null;
end
$$;
create trigger first_ten_changed after update on searches
  referencing old table as gone
  for each statement execute function forget_first_tens_of_answers();
create trigger first_ten_went after delete on searches
  referencing old table as gone
  for each statement execute function forget_first_tens_of_answers();

create function forget_first_tens_of_results() returns trigger language plpgsql as $$
begin
  delete from first_tens where search_id = any (array(select search_id from gone));
  return null;
end
$$;
create trigger first_ten_changed after update on organic_results
  referencing old table as gone
  for each statement execute function forget_first_tens_of_results();
create trigger first_ten_went after delete on organic_results
  referencing old table as gone
  for each statement execute function forget_first_tens_of_results();
