-- A history as the pipeline would leave it: bench.queries queries over bench.nights nights, about 9.7 results each.
-- Everything is drawn from hashes, so that two machines measure the same rows.

create function pg_temp.content_id(variadic parts text[]) returns uuid language sql immutable as $$
  select encode(substr(sha256(convert_to(array_to_string(parts, chr(31)), 'UTF8')), 1, 16), 'hex')::uuid
$$;
create function pg_temp.page_id(url text, url_key text) returns uuid language sql immutable as $$
  select encode(
    substr(uuid_send(pg_temp.content_id('page', url_key)), 1, 4) || substr(uuid_send(pg_temp.content_id('page', url)), 5),
    'hex'
  )::uuid
$$;
create function pg_temp.chance(seed text) returns double precision language sql immutable as $$
  select (hashtextextended(seed, 7) & 1048575) / 1048576.0::double precision
$$;

insert into lists (name, source) values ('bench', 'inputs/bench.csv');
insert into accounts (name, kind) values ('bench.example.com', 'live');
insert into workers (account_id, host, pid, floor, concurrency, lease_until, stopped_at)
values (1, 'bench', 1, 100, 8, now(), now());

create temp table bench_queries as
select
  n,
  'question ' || n || ' about topic ' || n / 10 as q,
  pg_temp.content_id('query', 'bench' || n) as id,
  n / 10 as topic
from generate_series(1, current_setting('bench.queries')::integer) as n;
create index on bench_queries (n);

insert into queries (id, key, q, hl, gl, num, device)
select id, 'bench' || n, q, 'en', 'us', 10, case when n % 10 = 0 then 'mobile' else 'desktop' end
from bench_queries;

insert into list_queries (list_id, query_id, weight, tags, target_url)
select
  1,
  id,
  round(10 + 10000 * power(pg_temp.chance('weight' || n), 4)),
  array['group-' || topic % 8] || case when n % 5 = 0 then array['brand'] else '{}'::text[] end,
  case when n % 4 = 0 then 'https://site-3.example.com/topic-' || topic || '/page-3' end
from bench_queries;

-- Twenty-five pages a topic, five pages a query, twenty pages that appear everywhere; few hosts own many of them.
create temp table bench_pages as
select
  kind, owner, nth,
  'https://www.site-' || site || '.example.com/' || kind || '-' || owner || '/page-' || nth as url,
  'www.site-' || site || '.example.com' as host,
  'site-' || site || '.example.com/' || kind || '-' || owner || '/page-' || nth as url_key
from (
  select
    kind, owner, nth,
    floor(400 * power(pg_temp.chance(kind || owner || '/' || nth), 2))::integer as site
  from (
    select 'topic' as kind, topic as owner, nth
    from (select distinct topic from bench_queries) as topics, generate_series(1, 25) as nth
    union all
    select 'query', n, nth from bench_queries, generate_series(1, 5) as nth
    union all
    select 'every', 0, nth from generate_series(1, 20) as nth
  ) as drawn
) as placed;
alter table bench_pages add column id bigint generated always as identity;

insert into domains (id, host, site)
select distinct pg_temp.content_id('domain', host), host, 'example.com'
from bench_pages;
insert into pages (id, domain_id, url, url_key)
select pg_temp.page_id(url, url_key), pg_temp.content_id('domain', host), url, url_key
from bench_pages;

insert into runs (list_id, run_date, kind, state, rows, accepted, created_at, finished_at)
select
  1, date '2026-10-01' + night, 'nightly', 'done', total, total,
  timestamptz '2026-10-01 01:00Z' + night * interval '1 day',
  timestamptz '2026-10-01 01:30Z' + night * interval '1 day'
from (select count(*) as total from bench_queries) as counted,
  generate_series(0, current_setting('bench.nights')::integer - 1) as night
order by night;
insert into slices (run_id, slice, priority, done_at)
select runs.id, slice, 5, runs.finished_at
from runs, generate_series(0, current_setting('bench.queries')::integer / 25) as slice;

insert into tasks (run_id, query_id, slice, attempts, state, finished_at)
select
  runs.id, bench_queries.id, n / 25, 1, 'answered',
  runs.created_at + (runs.finished_at - runs.created_at) * n / runs.rows
from runs, bench_queries
order by runs.id, n;

insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total,
  credits_remaining, credits_reserved, credits_used, http_status, outcome, class)
select
  tasks.id, tasks.query_id, 1, 1, tasks.finished_at - interval '2 seconds', tasks.finished_at, tasks.id, tasks.id,
  100000000 - tasks.id, 1, 1, 200, 'settled', '10 desktop'
from tasks
order by tasks.id;
update tasks set search_id = calls.id from calls where calls.task_id = tasks.id;

insert into searches (id, call_id, task_id, query_id, fetched_at, depth, credits_remaining, credits_used,
  result_count, origin, api, intent, sentiment)
select
  calls.id, calls.id, calls.task_id, calls.query_id, calls.finished_at, 10, calls.credits_remaining, 1, 10,
  'live', 'bench.example.com',
  (array['informational', 'commercial', 'navigational'])[1 + floor(3 * pg_temp.chance('i' || calls.query_id || calls.id / 9000))],
  (array['neutral', 'positive', 'negative'])[1 + floor(3 * pg_temp.chance('s' || calls.query_id))]
from calls
order by calls.id;

create temp table bench_candidates as
select bench_queries.id as query_id, n, bench_pages.id as page,
  0.7 * pg_temp.chance('base' || bench_pages.id) + 0.3 * pg_temp.chance(n || 'base' || bench_pages.id) as base
from bench_queries
join bench_pages on kind = 'topic' and owner = topic and pg_temp.chance(n || 'pick' || nth) < 0.5
union all
select bench_queries.id, n, bench_pages.id, 0.3 * pg_temp.chance(n || 'own' || bench_pages.id)
from bench_queries
join bench_pages on kind = 'query' and owner = n
union all
select bench_queries.id, n, bench_pages.id, 0.2 + 0.6 * pg_temp.chance(n || 'all' || bench_pages.id)
from bench_queries
join bench_pages on kind = 'every' and pg_temp.chance(n || 'every' || nth) < 0.15;

insert into organic_results (search_id, ordinal, position, page_id, domain_id, title, snippet)
select
  search_id, place, place,
  pg_temp.page_id(url, url_key), pg_temp.content_id('domain', host),
  'Page ' || nth || ' of ' || kind || ' ' || owner,
  'What page ' || nth || ' says about ' || kind || ' ' || owner || ', in a sentence of the usual length of a snippet.'
from (
  select
    searches.id as search_id, page,
    row_number() over (
      partition by searches.id
      order by base
        + 0.15 * pg_temp.chance(page || 'w' || n || (searches.id + n * 40) / (7 * 1000))
        + 0.02 * pg_temp.chance(page || 'd' || searches.id)
    ) as place
  from bench_candidates
  join searches using (query_id)
) as ranked
join bench_pages on bench_pages.id = page
where place <= 10 - (pg_temp.chance('short' || search_id) < 0.3)::integer
order by search_id, place;

update searches set depth = found, result_count = found
from (select search_id, count(*) as found from organic_results group by search_id) as counted
where counted.search_id = searches.id and found <> 10;

insert into entities (id, name, type)
select pg_temp.content_id('entity', 'Thing ' || n, 'topic'), 'Thing ' || n, 'topic'
from generate_series(0, greatest(40, current_setting('bench.queries')::integer / 4)) as n;
insert into search_entities (search_id, entity_id, ordinal)
select id, pg_temp.content_id('entity', 'Thing ' || thing, 'topic'), ordinal
from (
  select
    searches.id, ordinal,
    case when ordinal <= 2 then topic % 40 * ordinal
      else floor(current_setting('bench.queries')::integer / 4 * pg_temp.chance('e' || n || ordinal || searches.id / 5000)) end as thing
  from searches
  join bench_queries on bench_queries.id = query_id
  cross join generate_series(1, 4) as ordinal
) as drawn
order by id, ordinal;

insert into clusters (id, label)
select pg_temp.content_id('cluster', 'Topic ' || n % 50), 'Topic ' || n % 50 from generate_series(0, 49) as n;
insert into search_clusters (search_id, cluster_id, ordinal)
select searches.id, pg_temp.content_id('cluster', 'Topic ' || topic % 50), 1
from searches
join bench_queries on bench_queries.id = query_id
order by searches.id;

create temp table bench_related as
select n, ordinal,
  case when ordinal <= 2 then (select q from bench_queries as other where other.n = 1 + (bench_queries.n + ordinal * 3) % current_setting('bench.queries')::integer)
    else 'more about topic ' || topic || ' ' || floor(12 * pg_temp.chance('r' || n || ordinal)) end as q
from bench_queries, generate_series(1, 6) as ordinal;
insert into related_searches (id, q)
select distinct pg_temp.content_id('related', q), q from bench_related;
insert into search_related_searches (search_id, related_search_id, ordinal)
select searches.id, pg_temp.content_id('related', bench_related.q), ordinal
from searches
join bench_queries on bench_queries.id = query_id
join bench_related using (n)
order by searches.id, ordinal;

insert into own_domains (domain, label)
values ('site-3.example.com', 'Ours'), ('site-40.example.com', 'Our shop'), ('never-seen.example.com', 'Our blog');
