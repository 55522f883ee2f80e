-- Lists, their queries, and the queries' previous weights, targets and labels.

create table lists (
  id bigint generated always as identity primary key,
  name text not null unique,
  source text not null,
  created_at timestamptz not null default now(),
  reading jsonb,
  budget bigint check (budget >= 0),
  forgotten_at timestamptz
);
comment on table lists is 'Named sets of queries, usually one CSV file each.';
comment on column lists.id is 'Identifier of the list.';
comment on column lists.name is 'Name of the list: the file name without its extension, unless another name was given.';
comment on column lists.source is 'Path of the file that was last read.';
comment on column lists.created_at is 'Time at which the list was first read.';
comment on column lists.reading is 'Options for reading the list (encoding, delimiter, columns), as chosen by the user. If the list is read again without options, these options still apply.';
comment on column lists.budget is 'Maximum number of credits that all of the list''s runs in a calendar month (by run date) may use; null for no limit.';
comment on column lists.forgotten_at is 'Time at which the list was forgotten and its name replaced; null if the list was not forgotten.';

create table queries (
  id uuid primary key,
  -- The key needs no unique index, because the id is derived from the key. A unique index would double the cost of
  -- storing a list.
  key text not null,
  q text not null,
  location text,
  hl text,
  gl text,
  num integer not null check (num between 1 and 100),
  device text check (device in ('desktop', 'mobile', 'tablet'))
);
comment on table queries is 'Distinct requests. A parameter that is not sent is null. Two queries are different if a parameter is sent for one query but not for the other.';
comment on column queries.id is 'Identifier derived from the query key.';
comment on column queries.key is 'Query key: the hexadecimal SHA-256 of the canonical request. Queries with the same key are the same query.';
comment on column queries.q is 'Canonical text of the query, as it is sent.';
comment on column queries.location is 'Name of the place as sent; null if no place is sent.';
comment on column queries.hl is 'Language code as sent; null if no language is sent.';
comment on column queries.gl is 'Country code as sent; null if no country is sent.';
comment on column queries.num is 'Number of results requested, from 1 to 100; always sent.';
comment on column queries.device is 'Device as sent: desktop, mobile or tablet; null if no device is sent.';

-- The foreign key to lists is not enforced, because checking a million lines costs more than storing them and locks the
-- list. Each time a list is read, all its rows are updated. The fill factor leaves room for the new rows, so no index
-- is updated.
create table list_queries (
  list_id bigint not null,
  query_id uuid not null,
  priority smallint not null default 5 check (priority between 1 and 9),
  weight double precision,
  target_url text,
  tags text[] not null default '{}',
  given text,
  first_seen timestamptz not null default now(),
  last_seen timestamptz not null default now(),
  cpc double precision,
  difficulty double precision,
  every_days integer check (every_days > 0),
  max_age_ms bigint check (max_age_ms >= 0),
  primary key (list_id, query_id)
) with (fillfactor = 45);
comment on table list_queries is 'Queries in lists, with their values from the list''s columns.';
comment on column list_queries.list_id is 'List that contains the query.';
comment on column list_queries.query_id is 'Query on the list.';
comment on column list_queries.priority is 'Priority of the query, from 1 (bought first) to 9 (last). If several lines contain the query, the most urgent priority applies.';
comment on column list_queries.weight is 'Weight of the query in weighted analyses. If several lines contain the query, the highest weight applies.';
comment on column list_queries.target_url is 'Page that should rank for the query; null if the list specifies no page.';
comment on column list_queries.tags is 'Labels from the list. If several lines contain the query, their labels are combined.';
comment on column list_queries.given is 'Text as given in the file, if it differs from the canonical text.';
comment on column list_queries.first_seen is 'Time at which the list first contained the query.';
comment on column list_queries.last_seen is 'Time at which the list last contained the query. If the list has been read since then, the query is no longer in the list.';
comment on column list_queries.cpc is 'Cost per click, in the currency used by the tool that created the list. If several lines contain the query, the highest cost applies.';
comment on column list_queries.difficulty is 'Difficulty of ranking, according to the tool that created the list. If several lines contain the query, the highest difficulty applies.';
comment on column list_queries.every_days is 'Interval in days at which nightly runs buy the query; null if the list sets no interval. If several lines contain the query, the shortest interval applies.';
comment on column list_queries.max_age_ms is 'Maximum age in milliseconds of an answer that nightly runs reuse for the query. This age overrides the age set for the run. Null if the list sets no age. If several lines contain the query, the lowest age applies.';

create table list_query_history (
  list_id bigint not null,
  query_id uuid not null,
  until timestamptz not null,
  weight double precision,
  target_url text,
  tags text[] not null,
  primary key (list_id, query_id, until)
);
comment on table list_query_history is 'Previous values of rows in list_queries. Reading an unchanged list adds no rows to this table.';
comment on column list_query_history.list_id is 'List that contains the query.';
comment on column list_query_history.query_id is 'Query on the list.';
comment on column list_query_history.until is 'Time at which these values were replaced.';
comment on column list_query_history.weight is 'Weight before the change.';
comment on column list_query_history.target_url is 'Target page before the change.';
comment on column list_query_history.tags is 'Labels before the change.';

create function keep_list_query() returns trigger language plpgsql as $$
begin
  insert into public.list_query_history (list_id, query_id, until, weight, target_url, tags)
  values (old.list_id, old.query_id, now(), old.weight, old.target_url, old.tags)
  on conflict do nothing;
  return null;
end
$$;
comment on function keep_list_query() is 'Stores a list_queries row''s previous values if they change when the list is read.';

-- This condition is checked before the trigger is queued, so a million unchanged rows cost almost nothing.
create trigger list_queries_changed
after update of weight, target_url, tags on list_queries
for each row
when (
  old.weight is distinct from new.weight
  or old.target_url is distinct from new.target_url
  or old.tags is distinct from new.tags
)
execute function keep_list_query();
