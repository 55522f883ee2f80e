-- Stores a batch of bodies and their answers; existing rows stay unchanged. Parameters: one array for each column,
-- named :TABLE_COLUMN. The arrays of one table have equal lengths. The arrays are unnested in the select list, which
-- produces rows one by one, whereas `from` would materialize all rows first. Lock order: dictionaries before facts, and
-- the rows of each dictionary in order of id. All writers follow this order, which prevents deadlocks. Even if a clock
-- is wrong, an answer is dated between the start of its call and this statement, because the age of the answer
-- determines whether the query is bought again.
with new_domains as (
  insert into domains (id, host, site)
  select
    unnest(:domains_id::uuid[]) as id, unnest(:domains_host::text[]) as host, unnest(:domains_site::text[]) as site
  order by id
  on conflict do nothing
),
new_pages as (
  insert into pages (id, domain_id, url, url_key)
  select
    unnest(:pages_id::uuid[]) as id, unnest(:pages_domain_id::uuid[]) as domain_id, unnest(:pages_url::text[]) as url,
    unnest(:pages_url_key::text[]) as url_key
  order by id
  on conflict do nothing
),
new_entities as (
  insert into entities (id, name, type)
  select
    unnest(:entities_id::uuid[]) as id, unnest(:entities_name::text[]) as name, unnest(:entities_type::text[]) as type
  order by id
  on conflict do nothing
),
new_clusters as (
  insert into clusters (id, label)
  select
    unnest(:clusters_id::uuid[]) as id, unnest(:clusters_label::text[]) as label
  order by id
  on conflict do nothing
),
new_related_searches as (
  insert into related_searches (id, q)
  select
    unnest(:related_searches_id::uuid[]) as id, unnest(:related_searches_q::text[]) as q
  order by id
  on conflict do nothing
),
new_raw_answers as (
  insert into raw_answers (call_id, status, received_at, truncated, body)
  select
    call_id, status,
    greatest(
      least(to_timestamp(received_ms / 1000), statement_timestamp()),
      (select c.sent_at from calls c where c.id = call_id)
    ),
    truncated, body
  from (
    select
      unnest(:raw_answers_call_id::bigint[]) as call_id, unnest(:raw_answers_status::integer[]) as status,
      unnest(:raw_answers_received_ms::float8[]) as received_ms, unnest(:raw_answers_truncated::boolean[]) as truncated, unnest(:raw_answers_body::bytea[]) as body
  ) as given
  order by call_id
  -- The answer to a repeated call replaces an earlier response that contained no answer.
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
    greatest(
      least(to_timestamp(fetched_ms / 1000), statement_timestamp()),
      (select c.sent_at from calls c where c.id = given.id)
    ),
    depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  from (
    select
      unnest(:searches_id::bigint[]) as id, unnest(:searches_task_id::bigint[]) as task_id, unnest(:searches_query_id::text[]) as query_id,
      unnest(:searches_fetched_ms::float8[]) as fetched_ms, unnest(:searches_depth::bigint[]) as depth,
      unnest(:searches_credits_remaining::bigint[]) as credits_remaining, unnest(:searches_credits_used::integer[]) as credits_used,
      unnest(:searches_result_count::integer[]) as result_count, unnest(:searches_replaced::integer[]) as replaced,
      unnest(:searches_origin::text[]) as origin, unnest(:searches_api::text[]) as api, unnest(:searches_intent::text[]) as intent,
      unnest(:searches_sentiment::text[]) as sentiment, unnest(:searches_parse_error::text[]) as parse_error, unnest(:searches_extra::jsonb[]) as extra,
      unnest(:searches_as_given::jsonb[]) as as_given
  ) as given
  order by id
  on conflict do nothing
  returning id
),
-- Excludes the rows of existing answers. Checks no rows if all answers are new, as they usually are.
stored_searches as materialized (
  select array_agg(id) as ids, count(*) = cardinality(:searches_id) as whole
  from new_searches
),
new_organic_results as (
  insert into organic_results (search_id, ordinal, position, page_id, domain_id, title, snippet, extra, as_given)
  select given.*
  from
    stored_searches,
    (
      select
        unnest(:organic_results_search_id::bigint[]) as search_id, unnest(:organic_results_ordinal::integer[]) as ordinal,
        unnest(:organic_results_position::bigint[]) as position, unnest(:organic_results_page_id::uuid[]) as page_id, unnest(:organic_results_domain_id::uuid[]) as domain_id,
        unnest(:organic_results_title::text[]) as title, unnest(:organic_results_snippet::text[]) as snippet, unnest(:organic_results_extra::jsonb[]) as extra,
        unnest(:organic_results_as_given::jsonb[]) as as_given
    ) as given
  where whole or search_id = any(ids)
),
new_search_entities as (
  insert into search_entities (search_id, ordinal, entity_id)
  select given.*
  from
    stored_searches,
    (
      select
        unnest(:search_entities_search_id::bigint[]) as search_id, unnest(:search_entities_ordinal::integer[]) as ordinal, unnest(:search_entities_entity_id::uuid[]) as entity_id
    ) as given
  where whole or search_id = any(ids)
),
new_search_clusters as (
  insert into search_clusters (search_id, ordinal, cluster_id)
  select given.*
  from
    stored_searches,
    (
      select
        unnest(:search_clusters_search_id::bigint[]) as search_id, unnest(:search_clusters_ordinal::integer[]) as ordinal,
        unnest(:search_clusters_cluster_id::uuid[]) as cluster_id
    ) as given
  where whole or search_id = any(ids)
),
new_search_related_searches as (
  insert into search_related_searches (search_id, ordinal, related_search_id)
  select given.*
  from
    stored_searches,
    (
      select
        unnest(:search_related_searches_search_id::bigint[]) as search_id, unnest(:search_related_searches_ordinal::integer[]) as ordinal,
        unnest(:search_related_searches_related_search_id::uuid[]) as related_search_id
    ) as given
  where whole or search_id = any(ids)
)
insert into search_features (search_id, ordinal, kind, page_id, domain_id, text, extra)
select given.*
from
  stored_searches,
  (
    select
      unnest(:search_features_search_id::bigint[]) as search_id, unnest(:search_features_ordinal::integer[]) as ordinal, unnest(:search_features_kind::text[]) as kind,
      unnest(:search_features_page_id::uuid[]) as page_id, unnest(:search_features_domain_id::uuid[]) as domain_id, unnest(:search_features_text::text[]) as text,
      unnest(:search_features_extra::jsonb[]) as extra
  ) as given
where whole or search_id = any(ids)
