-- Records the dictionary entries to which the given answers refer. Entries are added in order of
-- id, as in every statement that writes dictionaries.

insert into forgetting_words (kind, id)
select distinct named.kind, named.id
from (
  select page_id, domain_id from organic_results where search_id = any(:answers::bigint[])
  union
  select page_id, domain_id from search_features where search_id = any(:answers::bigint[])
) as places
left join pages on pages.id = places.page_id
cross join lateral (
  values ('pages', places.page_id), ('domains', places.domain_id), ('domains', pages.domain_id)
) as named (kind, id)
where named.id is not null
union
select 'entities', entity_id from search_entities where search_id = any(:answers::bigint[])
union
select 'clusters', cluster_id from search_clusters where search_id = any(:answers::bigint[])
union
select 'related_searches', related_search_id from search_related_searches where search_id = any(:answers::bigint[])
on conflict do nothing
