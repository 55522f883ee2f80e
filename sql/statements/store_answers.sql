-- Stores a batch of bodies and the answers in them; what is there already stays as it is. $1: batch (jsonb), $2: all bodies, one after the other (bytea).
-- Dictionaries first, ordered by id, in the same order everywhere: two writers wait for each other, never in a circle.
-- The batch holds dictionaries and lists column by column, which is half the text of rows and half the work of reading
-- them; it stands in a table of one row, so that the planner does not take it apart before the statement runs.
with given as materialized (
  select $1::jsonb as batch
),
new_domains as (
  insert into domains (id, host, site)
  select id::uuid, host, site
  from
    given,
    rows from (
      jsonb_array_elements_text(batch #> '{domains,id}'),
      jsonb_array_elements_text(batch #> '{domains,host}'),
      jsonb_array_elements_text(batch #> '{domains,site}')
    ) as d (id, host, site)
  order by 1
  on conflict do nothing
),
new_pages as (
  insert into pages (id, domain_id, url, url_key)
  select id::uuid, domain_id::uuid, url, coalesce(url_key, url)
  from
    given,
    rows from (
      jsonb_array_elements_text(batch #> '{pages,id}'),
      jsonb_array_elements_text(batch #> '{pages,domain_id}'),
      jsonb_array_elements_text(batch #> '{pages,url}'),
      jsonb_array_elements_text(batch #> '{pages,url_key}')
    ) as p (id, domain_id, url, url_key)
  order by 1
  on conflict do nothing
),
new_entities as (
  insert into entities (id, name, type)
  select id::uuid, name, type
  from
    given,
    rows from (
      jsonb_array_elements_text(batch #> '{entities,id}'),
      jsonb_array_elements_text(batch #> '{entities,name}'),
      jsonb_array_elements_text(batch #> '{entities,type}')
    ) as e (id, name, type)
  order by 1
  on conflict do nothing
),
new_clusters as (
  insert into clusters (id, label)
  select id::uuid, label
  from
    given,
    rows from (
      jsonb_array_elements_text(batch #> '{clusters,id}'),
      jsonb_array_elements_text(batch #> '{clusters,label}')
    ) as c (id, label)
  order by 1
  on conflict do nothing
),
new_related_searches as (
  insert into related_searches (id, q)
  select id::uuid, q
  from
    given,
    rows from (
      jsonb_array_elements_text(batch #> '{related_searches,id}'),
      jsonb_array_elements_text(batch #> '{related_searches,q}')
    ) as r (id, q)
  order by 1
  on conflict do nothing
),
new_raw_answers as (
  insert into raw_answers (call_id, status, received_at, truncated, body)
  select call_id, status, received_at, truncated, substring($2::bytea from start for size)
  from given, jsonb_to_recordset(batch -> 'bodies') as b (
      call_id bigint, status integer, received_at timestamptz, truncated boolean, start integer, size integer
    )
  order by call_id
  on conflict do nothing
),
answers as materialized (
  select s.*
  from given, jsonb_to_recordset(batch -> 'searches') as s (
      id bigint, task_id bigint, query_id uuid, fetched_at timestamptz, depth bigint,
      credits_remaining bigint, credits_used integer, result_count integer, replaced integer,
      origin text, api text, intent text, sentiment text, parse_error text, extra jsonb, as_given jsonb,
      results jsonb, entities jsonb, clusters jsonb, related_searches jsonb
    )
),
new_searches as (
  insert into searches (
    id, call_id, task_id, query_id, fetched_at, depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  )
  select
    id, id, task_id, query_id, fetched_at, depth, credits_remaining, credits_used,
    result_count, replaced, origin, api, intent, sentiment, parse_error, extra, as_given
  from answers
  order by id
  on conflict do nothing
  returning id
),
kept as materialized (
  select id, results, entities, clusters, related_searches
  from answers
  where id in (select id from new_searches)
),
new_organic_results as (
  insert into organic_results (
    search_id, ordinal, position, page_id, domain_id, title, snippet, extra, as_given
  )
  select
    kept.id, r.ordinal::integer, r.position::bigint, r.page_id::uuid, r.domain_id::uuid,
    r.title, r.snippet, nullif(r.extra, 'null'), nullif(r.as_given, 'null')
  from
    kept,
    rows from (
      jsonb_array_elements_text(results -> 'ordinal'),
      jsonb_array_elements_text(results -> 'position'),
      jsonb_array_elements_text(results -> 'page_id'),
      jsonb_array_elements_text(results -> 'domain_id'),
      jsonb_array_elements_text(results -> 'title'),
      jsonb_array_elements_text(results -> 'snippet'),
      jsonb_array_elements(results -> 'extra'),
      jsonb_array_elements(results -> 'as_given')
    ) as r (ordinal, position, page_id, domain_id, title, snippet, extra, as_given)
),
new_search_entities as (
  insert into search_entities (search_id, ordinal, entity_id)
  select kept.id, ordinal, e.id::uuid
  from kept, jsonb_array_elements_text(entities) with ordinality as e (id, ordinal)
  where e.id is not null
),
new_search_clusters as (
  insert into search_clusters (search_id, ordinal, cluster_id)
  select kept.id, ordinal, c.id::uuid
  from kept, jsonb_array_elements_text(clusters) with ordinality as c (id, ordinal)
  where c.id is not null
)
insert into search_related_searches (search_id, ordinal, related_search_id)
select kept.id, ordinal, r.id::uuid
from kept, jsonb_array_elements_text(related_searches) with ordinality as r (id, ordinal)
where r.id is not null
