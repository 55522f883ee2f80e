-- Stores a batch of bodies and the answers in them; what is there already stays as it is.
-- Every parameter is a column, table by table; those of one table are of equal length. They are taken apart in the select
-- list, where a row is made when it is asked for: a function in `from` writes all of its rows aside first.
-- How old an answer is decides what is bought: whatever the clock of the worker says, it came after its call was begun and
-- before it is stored, both by the clock of the database.
-- Dictionaries first, ordered by id, in the same order everywhere: two writers wait for each other, never in a circle.
with new_domains as (
  insert into domains (id, host, site)
  select
    unnest($1::uuid[]) as id, unnest($2::text[]) as host, unnest($3::text[]) as site
  order by id
  on conflict do nothing
),
new_pages as (
  insert into pages (id, domain_id, url, url_key)
  select
    unnest($4::uuid[]) as id, unnest($5::uuid[]) as domain_id, unnest($6::text[]) as url,
    unnest($7::text[]) as url_key
  order by id
  on conflict do nothing
),
new_entities as (
  insert into entities (id, name, type)
  select
    unnest($8::uuid[]) as id, unnest($9::text[]) as name, unnest($10::text[]) as type
  order by id
  on conflict do nothing
),
new_clusters as (
  insert into clusters (id, label)
  select
    unnest($11::uuid[]) as id, unnest($12::text[]) as label
  order by id
  on conflict do nothing
),
new_related_searches as (
  insert into related_searches (id, q)
  select
    unnest($13::uuid[]) as id, unnest($14::text[]) as q
  order by id
  on conflict do nothing
),
new_raw_answers as (
  insert into raw_answers (call_id, status, received_at, truncated, body)
  select
    call_id, status,
    least(
      greatest(to_timestamp(received_ms / 1000), (select c.sent_at from calls c where c.id = call_id)),
      statement_timestamp()
    ),
    truncated, body
  from (
    select
      unnest($15::bigint[]) as call_id, unnest($16::integer[]) as status,
      unnest($17::float8[]) as received_ms, unnest($18::boolean[]) as truncated, unnest($19::bytea[]) as body
  ) as given
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
    id, id, task_id, query_id::uuid,
    least(
      greatest(to_timestamp(fetched_ms / 1000), (select c.sent_at from calls c where c.id = given.id)),
      statement_timestamp()
    ),
    depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  from (
    select
      unnest($20::bigint[]) as id, unnest($21::bigint[]) as task_id, unnest($22::text[]) as query_id,
      unnest($23::float8[]) as fetched_ms, unnest($24::bigint[]) as depth,
      unnest($25::bigint[]) as credits_remaining, unnest($26::integer[]) as credits_used,
      unnest($27::integer[]) as result_count, unnest($28::integer[]) as replaced,
      unnest($29::text[]) as origin, unnest($30::text[]) as api, unnest($31::text[]) as intent,
      unnest($32::text[]) as sentiment, unnest($33::text[]) as parse_error, unnest($34::jsonb[]) as extra,
      unnest($35::jsonb[]) as as_given
  ) as given
  order by id
  on conflict do nothing
  returning id
),
-- Rows of answers that were there already are left out. Mostly none was: then no row is looked at for it.
kept as materialized (
  select array_agg(id) as ids, count(*) = cardinality($20) as whole
  from new_searches
),
new_organic_results as (
  insert into organic_results (search_id, ordinal, position, page_id, domain_id, title, snippet, extra, as_given)
  select given.*
  from
    kept,
    (
      select
        unnest($36::bigint[]) as search_id, unnest($37::integer[]) as ordinal,
        unnest($38::bigint[]) as position, unnest($39::uuid[]) as page_id, unnest($40::uuid[]) as domain_id,
        unnest($41::text[]) as title, unnest($42::text[]) as snippet, unnest($43::jsonb[]) as extra,
        unnest($44::jsonb[]) as as_given
    ) as given
  where whole or search_id = any(ids)
),
new_search_entities as (
  insert into search_entities (search_id, ordinal, entity_id)
  select given.*
  from
    kept,
    (
      select
        unnest($45::bigint[]) as search_id, unnest($46::integer[]) as ordinal, unnest($47::uuid[]) as entity_id
    ) as given
  where whole or search_id = any(ids)
),
new_search_clusters as (
  insert into search_clusters (search_id, ordinal, cluster_id)
  select given.*
  from
    kept,
    (
      select
        unnest($48::bigint[]) as search_id, unnest($49::integer[]) as ordinal,
        unnest($50::uuid[]) as cluster_id
    ) as given
  where whole or search_id = any(ids)
),
new_search_related_searches as (
  insert into search_related_searches (search_id, ordinal, related_search_id)
  select given.*
  from
    kept,
    (
      select
        unnest($51::bigint[]) as search_id, unnest($52::integer[]) as ordinal,
        unnest($53::uuid[]) as related_search_id
    ) as given
  where whole or search_id = any(ids)
)
insert into search_features (search_id, ordinal, kind, page_id, domain_id, text, extra)
select given.*
from
  kept,
  (
    select
      unnest($54::bigint[]) as search_id, unnest($55::integer[]) as ordinal, unnest($56::text[]) as kind,
      unnest($57::uuid[]) as page_id, unnest($58::uuid[]) as domain_id, unnest($59::text[]) as text,
      unnest($60::jsonb[]) as extra
  ) as given
where whole or search_id = any(ids)
