-- Reads the entities, clusters, related searches and SERP features in an answer. Parameter: :search (bigint).
with words as materialized (
  select 'entity' as kind, ordinal, name as text, type
  from search_entities
  join entities on entities.id = entity_id
  where search_id = :search
  union all
  select 'group', ordinal, label, null
  from search_clusters
  join clusters on clusters.id = cluster_id
  where search_id = :search
  union all
  select 'related', ordinal, q, null
  from search_related_searches
  join related_searches on related_searches.id = related_search_id
  where search_id = :search
  union all
  select 'block', ordinal, coalesce(search_features.text, ''), search_features.kind
  from search_features
  where search_id = :search
)
select words.kind, words.ordinal, words.text, words.type, known.id as query
from words
-- All texts are looked up at once, because there is no index on query texts.
left join (
  select queries.q, (array_agg(queries.id order by queries.device, queries.id))[1] as id
  from queries
  where queries.q in (select text from words where kind = 'related')
  group by queries.q
) as known on known.q = words.text and words.kind = 'related'
order by words.kind, words.ordinal;
