-- Stores a batch of bodies and the answers in them; what is there already stays as it is. $1: batch (jsonb), $2: all bodies, one after the other (bytea).
-- Dictionaries first, ordered by id, in the same order everywhere: two writers wait for each other, never in a circle.
with new_domains as (
  insert into domains (id, host, site)
  select id, host, site
  from jsonb_to_recordset($1::jsonb -> 'domains') as d (id uuid, host text, site text)
  order by id
  on conflict do nothing
),
new_pages as (
  insert into pages (id, domain_id, url, url_key)
  select id, domain_id, url, url_key
  from jsonb_to_recordset($1::jsonb -> 'pages') as p (id uuid, domain_id uuid, url text, url_key text)
  order by id
  on conflict do nothing
),
new_entities as (
  insert into entities (id, name, type)
  select id, name, type
  from jsonb_to_recordset($1::jsonb -> 'entities') as e (id uuid, name text, type text)
  order by id
  on conflict do nothing
),
new_clusters as (
  insert into clusters (id, label)
  select id, label
  from jsonb_to_recordset($1::jsonb -> 'clusters') as c (id uuid, label text)
  order by id
  on conflict do nothing
),
new_related_searches as (
  insert into related_searches (id, q)
  select id, q
  from jsonb_to_recordset($1::jsonb -> 'related_searches') as r (id uuid, q text)
  order by id
  on conflict do nothing
),
new_raw_answers as (
  insert into raw_answers (call_id, status, received_at, truncated, body)
  select call_id, status, received_at, truncated, substring($2::bytea from start for size)
  from jsonb_to_recordset($1::jsonb -> 'bodies') as b (
      call_id bigint, status integer, received_at timestamptz, truncated boolean, start integer, size integer
    )
  order by call_id
  on conflict do nothing
),
new_searches as (
  insert into searches (
    id, call_id, task_id, query_id, fetched_at, depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  )
  select
    id, id, task_id, query_id, fetched_at, depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  from jsonb_to_recordset($1::jsonb -> 'searches') as s (
      id bigint, task_id bigint, query_id uuid, fetched_at timestamptz, depth bigint,
      credits_remaining bigint, credits_used integer, result_count integer, replaced integer,
      origin text, api text, intent text, sentiment text, parse_error text, extra jsonb, as_given jsonb
    )
  order by id
  on conflict do nothing
  returning id
),
new_organic_results as (
  insert into organic_results (
    search_id, ordinal, position, page_id, domain_id, title, snippet, extra, as_given
  )
  select
    r.search_id, r.ordinal, r.position, r.page_id, r.domain_id, r.title, r.snippet, r.extra, r.as_given
  from jsonb_to_recordset($1::jsonb -> 'organic_results') as r (
      search_id bigint, ordinal integer, position bigint, page_id uuid, domain_id uuid,
      title text, snippet text, extra jsonb, as_given jsonb
    )
  where r.search_id in (select id from new_searches)
),
new_search_entities as (
  insert into search_entities (search_id, ordinal, entity_id)
  select r.search_id, r.ordinal, r.id
  from jsonb_to_recordset($1::jsonb -> 'search_entities') as r (search_id bigint, ordinal integer, id uuid)
  where r.search_id in (select id from new_searches)
),
new_search_clusters as (
  insert into search_clusters (search_id, ordinal, cluster_id)
  select r.search_id, r.ordinal, r.id
  from jsonb_to_recordset($1::jsonb -> 'search_clusters') as r (search_id bigint, ordinal integer, id uuid)
  where r.search_id in (select id from new_searches)
)
insert into search_related_searches (search_id, ordinal, related_search_id)
select r.search_id, r.ordinal, r.id
from jsonb_to_recordset($1::jsonb -> 'search_related_searches') as r (search_id bigint, ordinal integer, id uuid)
where r.search_id in (select id from new_searches)
