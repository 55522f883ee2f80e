-- Stores a batch of bodies and the answers in them; what is there already stays as it is.
-- $1: jsonb {bodies, searches}, $2: the bytes of the bodies; the rest are columns of equal length, table by table.
-- How old an answer is decides what is bought: whatever the clock of the worker says, it came after its call was begun and
-- before it is stored, both by the clock of the database.
-- Dictionaries first, ordered by id, in the same order everywhere: two writers wait for each other, never in a circle.
with given as materialized (
  select $1::jsonb as batch
),
new_domains as (
  insert into domains (id, host, site)
  select id, host, site
  from unnest($3::uuid[], $4::text[], $5::text[]) as d (id, host, site)
  order by id
  on conflict do nothing
),
new_pages as (
  insert into pages (id, domain_id, url, url_key)
  select id, domain_id, url, url_key
  from unnest($6::uuid[], $7::uuid[], $8::text[], $9::text[]) as p (id, domain_id, url, url_key)
  order by id
  on conflict do nothing
),
new_entities as (
  insert into entities (id, name, type)
  select id, name, type
  from unnest($10::uuid[], $11::text[], $12::text[]) as e (id, name, type)
  order by id
  on conflict do nothing
),
new_clusters as (
  insert into clusters (id, label)
  select id, label
  from unnest($13::uuid[], $14::text[]) as c (id, label)
  order by id
  on conflict do nothing
),
new_related_searches as (
  insert into related_searches (id, q)
  select id, q
  from unnest($15::uuid[], $16::text[]) as r (id, q)
  order by id
  on conflict do nothing
),
new_raw_answers as (
  insert into raw_answers (call_id, status, received_at, truncated, body)
  select
    call_id, status,
    least(greatest(received_at, (select c.sent_at from calls c where c.id = call_id)), statement_timestamp()),
    truncated, body
  from
    given,
    rows from (
      jsonb_to_recordset(batch -> 'bodies') as (
        call_id bigint, status integer, received_at timestamptz, truncated boolean
      ),
      unnest($2::bytea[])
    ) as b (call_id, status, received_at, truncated, body)
  order by call_id
  -- An answer takes the place of what was no answer: its call was asked for again.
  on conflict (call_id) do update
  set status = excluded.status, received_at = excluded.received_at, truncated = excluded.truncated, body = excluded.body
  where not exists (select from searches where searches.id = excluded.call_id)
),
new_searches as (
  insert into searches (
    id, call_id, task_id, query_id, fetched_at, depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  )
  select
    id, id, task_id, query_id,
    least(greatest(fetched_at, (select c.sent_at from calls c where c.id = s.id)), statement_timestamp()),
    depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  from given, jsonb_to_recordset(batch -> 'searches') as s (
      id bigint, task_id bigint, query_id uuid, fetched_at timestamptz, depth bigint,
      credits_remaining bigint, credits_used integer, result_count integer, replaced integer,
      origin text, api text, intent text, sentiment text, parse_error text, extra jsonb, as_given jsonb
    )
  order by id
  on conflict do nothing
  returning id
),
-- Rows of answers that were there already are left out; an array, since it is looked through once for each row.
kept as materialized (
  select array_agg(id) as ids from new_searches
),
new_organic_results as (
  insert into organic_results (
    search_id, ordinal, position, page_id, domain_id, title, snippet, extra, as_given
  )
  select search_id, ordinal, position, page_id, domain_id, title, snippet, extra, as_given
  from
    kept,
    unnest(
      $17::bigint[], $18::integer[], $19::bigint[], $20::uuid[], $21::uuid[], $22::text[], $23::text[],
      $24::jsonb[], $25::jsonb[]
    ) as r (search_id, ordinal, position, page_id, domain_id, title, snippet, extra, as_given)
  where search_id = any(ids)
),
new_search_entities as (
  insert into search_entities (search_id, ordinal, entity_id)
  select search_id, ordinal, entity_id
  from kept, unnest($26::bigint[], $27::integer[], $28::uuid[]) as e (search_id, ordinal, entity_id)
  where search_id = any(ids)
),
new_search_clusters as (
  insert into search_clusters (search_id, ordinal, cluster_id)
  select search_id, ordinal, cluster_id
  from kept, unnest($29::bigint[], $30::integer[], $31::uuid[]) as c (search_id, ordinal, cluster_id)
  where search_id = any(ids)
),
new_search_related_searches as (
  insert into search_related_searches (search_id, ordinal, related_search_id)
  select search_id, ordinal, related_search_id
  from
    kept,
    unnest($32::bigint[], $33::integer[], $34::uuid[]) as r (search_id, ordinal, related_search_id)
  where search_id = any(ids)
)
insert into search_features (search_id, ordinal, kind, page_id, domain_id, text, extra)
select search_id, ordinal, kind, page_id, domain_id, text, extra
from
  kept,
  unnest(
    $35::bigint[], $36::integer[], $37::text[], $38::uuid[], $39::uuid[], $40::text[], $41::jsonb[]
  ) as f (search_id, ordinal, kind, page_id, domain_id, text, extra)
where search_id = any(ids)
