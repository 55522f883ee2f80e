-- Lists and their queries, and what lists said about them before.

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
comment on column lists.id is 'Number of the list.';
comment on column lists.name is 'Name of the list: the file name without its ending, unless another was given.';
comment on column lists.source is 'Path of the file that was read last.';
comment on column lists.created_at is 'When the list was first read.';
comment on column lists.reading is 'How a person said that the list is read (encoding, delimiter, columns), used again by the next reading that says nothing.';
comment on column lists.budget is 'Most credits that the runs of the list dated in one calendar month may use together; null: no limit.';
comment on column lists.forgotten_at is 'When everything about it was forgotten; its name is a made-up one since then. Null: it was not.';

create table queries (
  id uuid primary key,
  -- Not unique: the id is derived from it, and a tree of the keys would cost as much as all the rest of a large list.
  key text not null,
  q text not null,
  location text,
  hl text,
  gl text,
  num integer not null check (num between 1 and 100),
  device text check (device in ('desktop', 'mobile', 'tablet'))
);
comment on table queries is 'Distinct requests. An absent parameter is null, is not sent, and differs from an explicit one.';
comment on column queries.id is 'Derived from the key.';
comment on column queries.key is 'Hex sha256 of the canonical request: equal keys mean equal pages of results.';
comment on column queries.q is 'Canonical text of the query, as it is sent.';
comment on column queries.location is 'Place name as sent, or null when none is sent.';
comment on column queries.hl is 'Language code as sent, or null when none is sent.';
comment on column queries.gl is 'Country code as sent, or null when none is sent.';
comment on column queries.num is 'Number of results asked for, 1 to 100; always sent.';
comment on column queries.device is 'desktop, mobile or tablet as sent, or null when none is sent.';

-- No key to lists is enforced: a check for each of a million lines costs more than the lines themselves, and the list is
-- locked while its lines are written. Each reading of a list writes when it last held each query: the fill factor leaves room
-- for that beside the row, so that no tree has to be told.
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
comment on table list_queries is 'Which queries a list holds, with what its columns say about them.';
comment on column list_queries.list_id is 'The list.';
comment on column list_queries.query_id is 'The query.';
comment on column list_queries.priority is '1 is bought first, 9 last; the most urgent of merged lines.';
comment on column list_queries.weight is 'How much the query counts in weighted analyses; the greatest of merged lines.';
comment on column list_queries.target_url is 'The page that ought to rank for the query, when the list names one.';
comment on column list_queries.tags is 'Labels from the list; those of merged lines united.';
comment on column list_queries.given is 'The text as the file gave it, when it differs from the canonical text.';
comment on column list_queries.first_seen is 'When the list first held the query.';
comment on column list_queries.last_seen is 'When the list last held the query; older than the last reading of the list: it was removed since.';
comment on column list_queries.cpc is 'What a click costs, in the currency of the tool that made the list; the greatest of merged lines.';
comment on column list_queries.difficulty is 'How hard it is to rank, as the tool that made the list says; the greatest of merged lines.';
comment on column list_queries.every_days is 'Nights ask the query once in so many days; the least of merged lines. Null: the list says nothing.';
comment on column list_queries.max_age_ms is 'Nights reuse an answer to the query that is younger than this, whatever the run says; the least of merged lines. Null: the list says nothing.';

create table list_query_history (
  list_id bigint not null,
  query_id uuid not null,
  until timestamptz not null,
  weight double precision,
  target_url text,
  tags text[] not null,
  primary key (list_id, query_id, until)
);
comment on table list_query_history is 'What lists said about queries before they changed it. What they say now stands in list_queries, so that a reading that changes nothing writes nothing here.';
comment on column list_query_history.list_id is 'The list.';
comment on column list_query_history.query_id is 'The query.';
comment on column list_query_history.until is 'When the list began to say something else.';
comment on column list_query_history.weight is 'Weight until then.';
comment on column list_query_history.target_url is 'Target page until then.';
comment on column list_query_history.tags is 'Labels until then.';

create function keep_list_query() returns trigger language plpgsql as $$
begin
  insert into public.list_query_history (list_id, query_id, until, weight, target_url, tags)
  values (old.list_id, old.query_id, now(), old.weight, old.target_url, old.tags)
  on conflict do nothing;
  return null;
end
$$;
comment on function keep_list_query() is 'Keeps what a list said about a query when that changes.';

-- The condition is judged before anything is queued: a million rows that stay as they are cost next to nothing.
create trigger list_queries_changed
after update of weight, target_url, tags on list_queries
for each row
when (
  old.weight is distinct from new.weight
  or old.target_url is distinct from new.target_url
  or old.tags is distinct from new.tags
)
execute function keep_list_query();
