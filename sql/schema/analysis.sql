-- Data for analysts in addition to the answers: own and rival domains, click curves, notes, and sums for finished days.
-- A day's sums are deleted when their source data changes. Until new sums are stored, the views compute the
-- figures from the answers.

create schema if not exists analysis;
comment on schema analysis is 'Views and functions for analysts. Existing names and columns do not change. New columns are added at the end of a view.';

create schema notes;
comment on schema notes is 'Notes written by analysts. Analyst logins can change only this schema and the scratch schema.';

create schema scratch;
comment on schema scratch is 'Tables that analysts create for their own use. querymill never reads these tables.';

create table own_domains (
  domain text collate "C" not null check (
    -- The host must be in lower case; the path keeps its case.
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
comment on table own_domains is 'Our domains, as set with npm run domains. A domain without dates counts as ours on every day.';
comment on column own_domains.domain is 'Domain: a host in lower case without a leading www. A leading *. covers the host itself and all of its subdomains. If the entry has a path, it covers only the pages in that folder.';
comment on column own_domains.label is 'Name that we use for the domain.';
comment on column own_domains.since is 'First day on which the domain is ours under this label; null if no first day is set.';
comment on column own_domains.until is 'Last day on which the domain is ours under this label; null if no last day is set.';
comment on column own_domains.added_at is 'Time at which the entry was added.';
comment on column own_domains.brand is 'Brand of the domain; null if the label is also the name of the brand.';

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
comment on table rival_domains is 'Rival domains, as set with npm run domains. Analyses by brand compare our domains with the rival domains.';
comment on column rival_domains.domain is 'Domain of a rival, in the same format as in own_domains.';
comment on column rival_domains.label is 'Name that we use for the domain.';
comment on column rival_domains.since is 'First day on which the domain belongs to the rival under this label; null if no first day is set.';
comment on column rival_domains.until is 'Last day on which the domain belongs to the rival under this label; null if no last day is set.';
comment on column rival_domains.added_at is 'Time at which the entry was added.';
comment on column rival_domains.brand is 'Brand of the domain; null if the label is also the name of the brand.';

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
comment on table own_domain_changes is 'Log of the entries that commands added to or removed from own_domains and rival_domains, in chronological order. A change to an entry is logged as a removal and an addition.';
comment on column own_domain_changes.id is 'Identifier of the change.';
comment on column own_domain_changes.changed_at is 'Time of the change. All entries changed by one command have the same time.';
comment on column own_domain_changes.command is 'Command that made the change: load, set, end or undo.';
comment on column own_domain_changes.change is 'Kind of change: removed or added.';
comment on column own_domain_changes.domain is 'Domain of the entry.';
comment on column own_domain_changes.label is 'Label of the entry.';
comment on column own_domain_changes.since is 'First day on which the entry applies; null if no first day is set.';
comment on column own_domain_changes.until is 'Last day on which the entry applies; null if no last day is set.';
comment on column own_domain_changes.brand is 'Brand of the entry; null if the entry has no brand.';
comment on column own_domain_changes.rival is 'True if the entry belongs to rival_domains, false if it belongs to own_domains.';

create table ctr_curve (
  curve text not null,
  position integer not null check (position > 0),
  ctr double precision not null check (ctr between 0 and 1),
  primary key (curve, position)
);
comment on table ctr_curve is 'Click curves: the share of clicks that each position gets. To use another curve, add its rows and set querymill.ctr_curve to its name.';
comment on column ctr_curve.curve is 'Name of the curve. The "default" curve is used unless the querymill.ctr_curve setting names another curve.';
comment on column ctr_curve.position is 'Position in the answer.';
comment on column ctr_curve.ctr is 'Share of clicks, from 0 to 1. A position that is not in the curve gets no clicks.';
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
comment on table notes.annotations is 'Notes about a day, written by analysts under their own logins. The report shows these notes in every chart over time.';
comment on column notes.annotations.id is 'Identifier of the note.';
comment on column notes.annotations.date is 'Day of the event that the note describes.';
comment on column notes.annotations.text is 'Short description of the event.';
comment on column notes.annotations.tag is 'Label of the queries that the event affects, such as device=mobile or brand; * for all queries.';
comment on column notes.annotations.author is 'Login that wrote the note. A login can write notes only under its own name and cannot change other logins'' notes.';
comment on column notes.annotations.written_at is 'Time at which the note was written.';
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
  made_at timestamptz,
  strays boolean not null default false
);
comment on table finished_days is 'Finished days: days whose runs have ended and whose sums are stored. If an answer, run or task for a day changes, the rows for that day and all later days are deleted.';
comment on column finished_days.id is 'Identifier of the stored sums. Each computation gets a new identifier, so that new rows cannot be confused with older rows.';
comment on column finished_days.run_date is 'Run date of the finished day.';
comment on column finished_days.basis is 'Hash of all inputs to the sums except the answers, as returned by analysis.basis(): the origins, the click curve, and the domain entries that contain a folder or a wildcard.';
comment on column finished_days.begun_at is 'Time at which the computation of the sums began.';
comment on column finished_days.made_at is 'Time at which the sums were completed. Null while the sums are incomplete. Incomplete sums are not read.';
comment on column finished_days.strays is 'True if an answer compared on this day was bought for another day. If true, the views do not use finished_costs.';

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
comment on table finished_labels is 'Number of queries planned and answered on a finished day, for each set of labels. Queries with the same labels form one set, so these rows can be summed for any selection of labels.';
comment on column finished_labels.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_labels.set_id is 'Id of the label set, as returned by analysis.set_id.';
comment on column finished_labels.labels is 'Labels of the queries in the set, including those for device, country, language, place and list.';
comment on column finished_labels.queries is 'Number of queries in the set with an observation on the run date.';
comment on column finished_labels.weight is 'Sum of the weights of the queries with an observation on the run date.';
comment on column finished_labels.planned is 'Number of queries in the set that were planned.';
comment on column finished_labels.planned_weight is 'Sum of the weights of the planned queries.';

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
comment on table finished_shares is 'Each domain''s ranked queries and clicks on a finished day, for each set of labels.';
comment on column finished_shares.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_shares.domain is 'Domain, as shown in the views.';
comment on column finished_shares.set_id is 'Id of the label set in finished_labels.';
comment on column finished_shares.ranked is 'Number of queries for which the domain ranks, at any position.';
comment on column finished_shares.top_3 is 'Number of queries with the domain at positions 1 to 3.';
comment on column finished_shares.top_10 is 'Number of queries with the domain at positions 1 to 10.';
comment on column finished_shares.top_20 is 'Number of queries with the domain at positions 1 to 20.';
comment on column finished_shares.positions is 'Sum of the domain''s best positions, one for each query for which the domain ranks.';
comment on column finished_shares.clicks is 'Estimated clicks: the sum of each query''s weight times the share of clicks at the best position, over the queries for which the domain ranks. Null if the click curve has no value for any of these positions.';

create table finished_queries (
  finish_id bigint not null,
  query_id uuid not null,
  set_id bigint not null,
  earliest boolean not null,
  primary key (finish_id, query_id)
);
create index sets_of_queries on finished_queries (query_id, set_id) where earliest;
comment on table finished_queries is 'Label set of each query on a finished day. The queries in a slice are determined from these rows, without reading the lists and their history.';
comment on column finished_queries.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_queries.query_id is 'Query to which the labels apply.';
comment on column finished_queries.set_id is 'Set of labels in finished_labels.';
comment on column finished_queries.earliest is 'True if no earlier finished day has a row with the same query and label set.';

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
  retitled text[],
  relabelled boolean,
  moves bigint[],
  step smallint,
  since smallint[],
  ended smallint[],
  primary key (finish_id, query_id)
);
create index steps_without_number on finished_steps (finish_id) where step is null;
comment on table finished_steps is 'Comparison of each new answer from a finished day with the previous answer to the same query.';
comment on column finished_steps.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_steps.query_id is 'Query that was answered.';
comment on column finished_steps.search_id is 'New answer from the finished day.';
comment on column finished_steps.fetched_at is 'Time at which the new answer was received.';
comment on column finished_steps.previous_search_id is 'Previous answer; null for the first answer.';
comment on column finished_steps.volatility is 'Difference between the two answers, from 0 (the same) to 1 (nothing in common); null if the two answers cannot be compared.';
comment on column finished_steps.depth is 'Depth of the new answer: its last position.';
comment on column finished_steps.previous_depth is 'Depth of the previous answer: its last position; null for the first answer.';
comment on column finished_steps.previous_run_date is 'Run date of the previous answer; null for the first answer.';
comment on column finished_steps.compared_depth is 'Number of positions that both answers contain; null if the answers cannot be compared.';
comment on column finished_steps.entered is 'Number of pages that entered the top ten.';
comment on column finished_steps.left_top_10 is 'Number of pages that left the top ten.';
comment on column finished_steps.stayed is 'Number of pages in the top ten of both answers.';
comment on column finished_steps.switched is 'Domains with several pages in the two answers and different best pages; null if there are none.';
comment on column finished_steps.retitled is 'Domains with a page whose title differs between the two answers; null if there are none.';
comment on column finished_steps.relabelled is 'True if the intent or sentiment has changed since the previous answer; null if there is no previous answer.';
comment on column finished_steps.moves is 'Position change of each domain in the two answers, in ascending order, as in analysis.movers.places; null if there are no moves.';
comment on column finished_steps.step is 'Number of the answer in its series, which consists of the answers to the same query from the same origin and API. Null if the day of the previous answer had no stored sums.';
comment on column finished_steps.since is 'For each page in positions 1 to 10, the step at which the page entered these positions. 1 if the first answer already shows the page. The pages are sorted by position, then by the hash of their address. Null for the first answer.';
comment on column finished_steps.ended is 'For each page that left positions 1 to 10, the step at which the page had entered them, sorted by the hash of the page''s address.';

create table finished_answers (
  search_id bigint primary key,
  finish_id bigint not null,
  domains text[] collate "C" not null,
  places bigint[] not null,
  pages bigint[] not null
);
comment on table finished_answers is 'Best place of each domain in each answer from a finished day. SQL queries about domains read these rows instead of all results.';
comment on column finished_answers.search_id is 'Answer from the finished day, or an older answer reused for that day.';
comment on column finished_answers.finish_id is 'Finished day (finished_days.id) for which the row was last stored. Rows whose finished day no longer exists are deleted.';
comment on column finished_answers.domains is 'Domains in the answer, each listed once.';
comment on column finished_answers.places is 'Best place of each domain in the domains column, as in result_domains; null for a domain without a place.';
comment on column finished_answers.pages is 'Distinct pages at positions 1 to 10, as numbers derived from their addresses.';

create table finished_groups (
  finish_id bigint not null,
  query_id uuid not null,
  group_id uuid not null,
  primary key (finish_id, query_id)
);
comment on table finished_groups is 'Groups of queries whose answers from a finished day share at least four pages, as in analysis.keyword_groups_on.';
comment on column finished_groups.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_groups.query_id is 'Query in the group.';
comment on column finished_groups.group_id is 'Identifier of the group: the lowest query id in the group.';

create table finished_related (
  finish_id bigint not null,
  query_id uuid not null,
  related_search_id uuid not null,
  primary key (query_id, related_search_id, finish_id)
);
comment on table finished_related is 'Related searches that a query''s answers first suggested on a finished day.';
comment on column finished_related.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_related.query_id is 'Query whose answer suggested the related search.';
comment on column finished_related.related_search_id is 'Related search suggested in the answer.';

create table finished_stays (
  finish_id bigint not null,
  set_id bigint not null,
  over boolean not null,
  answers smallint not null,
  pages integer not null,
  primary key (finish_id, set_id, over, answers)
);
comment on table finished_stays is 'Pages in the top 10 of the answers from a finished day, and pages that left, counted by the length of their stays. Pages of a query''s first answer are excluded.';
comment on column finished_stays.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_stays.set_id is 'Set of labels in finished_labels.';
comment on column finished_stays.over is 'False for pages in the top 10, true for pages that left.';
comment on column finished_stays.answers is 'Number of consecutive answers for which the pages have been in the top 10, or had been when they left.';
comment on column finished_stays.pages is 'Number of pages. A page counts once for each query.';

create table finished_losses (
  finish_id bigint not null,
  query_id uuid not null,
  domain text collate "C" not null,
  base_search_id bigint not null,
  base_run_date date not null,
  base_place bigint not null,
  position bigint,
  confirmed boolean not null,
  primary key (finish_id, query_id, domain)
);
comment on table finished_losses is 'Places in the top 10 that domains have lost, stored for each finished day. The table holds losses that were confirmed on that day, and losses that are not confirmed yet.';
comment on column finished_losses.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_losses.query_id is 'Query for which the domain lost its place.';
comment on column finished_losses.domain is 'Domain that lost its place.';
comment on column finished_losses.base_search_id is 'Last answer that shows the domain in the top 10.';
comment on column finished_losses.base_run_date is 'Run date of the last answer that shows the domain in the top 10.';
comment on column finished_losses.base_place is 'Place of the domain in answer base_search_id, encoded as in result_domains.';
comment on column finished_losses.position is 'Best position of the domain in the answer from the finished day; null if that answer does not show the domain.';
comment on column finished_losses.confirmed is 'True if the answer from this day confirmed the loss. A confirmed loss is not stored again for later days.';

create table finished_costs (
  finish_id bigint not null,
  list text,
  set_id bigint not null,
  tags text[] not null,
  calls bigint not null,
  credits_used bigint not null,
  answers bigint not null,
  changed bigint,
  unknown_calls bigint not null,
  credits_unknown bigint not null,
  credits_lost bigint not null,
  unique nulls not distinct (finish_id, list, set_id, tags)
);
comment on table finished_costs is 'Cost of a finished day''s answers, by list and labels, as in analysis.costs.';
comment on column finished_costs.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_costs.list is 'Name of the list; null if the list no longer exists.';
comment on column finished_costs.set_id is 'Set of labels in finished_labels.';
comment on column finished_costs.tags is 'Labels of the queries in the list.';
comment on column finished_costs.calls is 'Number of calls sent for the queries in this row.';
comment on column finished_costs.credits_used is 'Credits used by the calls in this row.';
comment on column finished_costs.answers is 'Number of readable answers.';
comment on column finished_costs.changed is 'Number of readable answers that differ from the previous answer to the same query; null if there are no readable answers.';
comment on column finished_costs.unknown_calls is 'Number of calls with an unknown outcome.';
comment on column finished_costs.credits_unknown is 'Credits reserved for calls with an unknown outcome.';
comment on column finished_costs.credits_lost is 'Credits used for calls without a readable answer.';

create table finished_outcomes (
  finish_id bigint not null,
  list_id bigint,
  set_id bigint not null,
  outcome text not null,
  queries bigint not null,
  newest timestamptz,
  oldest timestamptz,
  unique nulls not distinct (finish_id, list_id, set_id, outcome)
);
comment on table finished_outcomes is 'Outcomes of the queries planned for a finished day, by list and labels, as in analysis.outcomes_between.';
comment on column finished_outcomes.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_outcomes.list_id is 'List of the queries; null if the list no longer exists.';
comment on column finished_outcomes.set_id is 'Set of labels in finished_labels.';
comment on column finished_outcomes.outcome is 'Evidence in analysis.observations if the queries have answers, or the reason why they have none.';
comment on column finished_outcomes.queries is 'Number of queries.';
comment on column finished_outcomes.newest is 'Time at which the newest of the answers was received; null if there are none.';
comment on column finished_outcomes.oldest is 'Time at which the oldest of the answers was received; null if there are none.';

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
  fetched_at timestamptz,
  origin text,
  api text,
  primary key (finish_id, query_id)
);
comment on table finished_keywords is 'Keywords as of a finished day, with the best position of our domains in the last known answer. The desk uses these rows to sort and filter its keyword tables. Rows are stored only for the 100 most recent days.';
comment on column finished_keywords.finish_id is 'Finished day (finished_days.id) to which the row belongs. Rows whose finished day no longer exists are deleted.';
comment on column finished_keywords.query_id is 'Query of the keyword.';
comment on column finished_keywords.run_date is 'Run date of the last known answer; null if the query has no answer from the 31 days up to the finished day.';
comment on column finished_keywords.search_id is 'Last known answer to the query.';
comment on column finished_keywords.depth is 'Depth of the last known answer: the last position in that answer.';
comment on column finished_keywords.weight is 'Weight of the query in its lists; 1 if no list sets a weight.';
comment on column finished_keywords.labels is 'Labels of the query, as in analysis.query_labels.';
comment on column finished_keywords.features is 'Kinds of SERP features in the last known answer.';
comment on column finished_keywords.domain is 'Our domain with the best position; null if none of our domains is in the answer.';
comment on column finished_keywords.position is 'Best position of our domains.';
comment on column finished_keywords.page_id is 'Page at the best position of our domains.';
comment on column finished_keywords.rivals is 'Rival domains in the last known answer.';
comment on column finished_keywords.fetched_at is 'Time at which the answer was received.';
comment on column finished_keywords.origin is 'Origin of the answer.';
comment on column finished_keywords.api is 'API that returned the answer.';

create table finished_keyword_days (
  finish_id bigint primary key,
  id bigint generated always as identity,
  basis text not null
);
comment on table finished_keyword_days is 'Finished days for which finished_keywords contains every keyword.';
comment on column finished_keyword_days.finish_id is 'Finished day (finished_days.id).';
comment on column finished_keyword_days.id is 'Identifier of the stored keywords. Data read from the stored keywords remains valid as long as this row exists.';
comment on column finished_keyword_days.basis is 'Hash of the entries in own_domains and rival_domains on which the stored keywords depend, as returned by analysis.keyword_basis().';

-- SQL queries about a page read this table first, because an index on organic_results (page_id)
-- would grow with each result.
create table seen_pages (
  page_id uuid not null,
  query_id uuid not null,
  primary key (page_id, query_id)
);
comment on table seen_pages is 'Pages in answers from finished days, each with the queries whose answers showed it. The table may contain pages that a later reparse removed from the answers. The positions and days of a page are read from the answers.';
comment on column seen_pages.page_id is 'Page in an answer.';
comment on column seen_pages.query_id is 'Query whose answer showed the page.';

create function forget_days(since date) returns void language sql as $$
  -- The sums for later days are deleted too, because those days' answers were compared with earlier answers.
  delete from finished_days where run_date >= since
$$;

-- The day of an open run has no stored sums, so storing the run's answers does not delete any sums.
-- When an answer arrives after its run has ended, the stored sums are deleted. A worker's
-- connection keeps this function's plan for hours. A plan made while the table is small would
-- later scan millions of tasks, so the settings below force lookups by key.
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

-- A changed or deleted answer may have been used for other days, so the sums for all days are deleted, except those for
-- archived days, which cannot be recomputed. Moving answers to or from the archive does not change any sums.
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

-- A newly quarantined or released answer may affect the sums of any later day.
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
-- A change to a task affects a day's sums only if the task starts or stops using an older answer.
create trigger task_reused after update on tasks
  for each row
  when (
    (old.state in ('reused', 'not_asked') or new.state in ('reused', 'not_asked'))
    and (old.state, old.search_id) is distinct from (new.state, new.search_id)
  )
  execute function forget_days_of_task();

create function forget_days_of_call() returns trigger language plpgsql as $$
begin
  perform forget_days(runs.run_date)
  from tasks
  join runs on runs.id = tasks.run_id
  where tasks.id = old.task_id;
  return null;
end
$$;
-- The cost of a call may become known only after its task and run have ended.
create trigger call_changed after update on calls
  for each row
  when (
    old.outcome is not null
    and (old.outcome, old.credits_used, old.credits_reserved) is distinct from (new.outcome, new.credits_used, new.credits_reserved)
  )
  execute function forget_days_of_call();

-- Labels contain the list name, so renaming a list changes the labels on all days, including archived days.
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
