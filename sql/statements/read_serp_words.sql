-- Reads the entities, groups, related searches and blocks of an answer. Parameter: :search (bigint).
select words.kind, words.ordinal, words.text, words.type, (
  select (array_agg(queries.id order by queries.device, queries.id))[1]
  from queries
  where words.kind = 'related'
    and queries.q = words.text
) as query
from (
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
) as words
order by words.kind, words.ordinal;
