-- What analysts need besides the answers: our domains, dated words of lists, curves of clicks.

create schema if not exists analysis;
comment on schema analysis is 'Views and functions for people who ask. Names and columns stay; new columns come at the end.';

-- Stored, so that no view repeats the rule, and compared byte by byte, which sorts several times faster than a language.
alter table domains
  add column domain text collate "C" not null
    generated always as (
      case when lower(host) like 'www._%' then substr(lower(host), 5) else lower(host) end
    ) stored;
comment on column domains.domain is 'The host in lower case without a leading www.: what analysts call a domain.';
create index domains_domain on domains (domain);

create table own_domains (
  domain text collate "C" not null check (domain = lower(domain) and domain <> '' and domain not like 'www._%'),
  label text not null,
  since date,
  until date,
  added_at timestamptz not null default now(),
  unique nulls not distinct (domain, since),
  check (since <= until)
);
comment on table own_domains is 'Our domains, as inputs/config/domains.csv tells them. A domain without dates is ours for all of its history.';
comment on column own_domains.domain is 'Domain: a host in lower case without a leading www.';
comment on column own_domains.label is 'What we call it.';
comment on column own_domains.since is 'First day on which it is ours under this label; null: from the beginning.';
comment on column own_domains.until is 'Last day on which it is ours under this label; null: to this day.';
comment on column own_domains.added_at is 'When the line was first read.';

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

create table view_files (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
comment on table view_files is 'Which definitions of views and functions are in place.';
comment on column view_files.name is 'File under sql/views, without its ending.';
comment on column view_files.checksum is 'Hex sha256 of the file.';
comment on column view_files.applied_at is 'When it was put in place.';
