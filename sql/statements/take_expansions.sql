-- Adds related searches to a list as queries, and records the source of each query. Parameters: :queries (jsonb, an
-- array of rows), :into, :source (bigint, lists), :origin.
with taken as materialized (
  select *
  from jsonb_to_recordset(:queries::jsonb) as given (
    id uuid, key text, q text, location text, hl text, gl text, num integer, device text,
    priority smallint, round integer, from_query uuid, sources bigint, weight double precision
  )
  order by id
),
asked as (
  insert into queries (id, key, q, location, hl, gl, num, device)
  select id, key, q, location, hl, gl, num, device
  from taken
  on conflict do nothing
),
held as (
  insert into list_queries (list_id, query_id, priority)
  select :into::bigint, id, priority
  from taken
  on conflict (list_id, query_id) do update set priority = excluded.priority
)
insert into expansions (list_id, query_id, source_list_id, origin, round, from_query, sources, weight)
select :into::bigint, id, :source::bigint, :origin::text, round, from_query, sources, weight
from taken;
