-- Rows of answers

-- check: each row of results belongs to a readable answer
select count(*) as violations
from (
  select search_id from organic_results
  union all select search_id from search_entities
  union all select search_id from search_clusters
  union all select search_id from search_related_searches
  union all select search_id from search_features
) facts
where not exists (select from searches s where s.id = facts.search_id and s.parse_error is null);

-- check: the result count of each answer equals its number of results
select count(*) as violations
from searches s
where s.parse_error is null
  and not s.archived
  and s.result_count <> (select count(*) from organic_results o where o.search_id = s.id);

-- check: each result names a known page and a known host
select count(*) as violations
from organic_results o
where (o.page_id is not null and not exists (select from pages p where p.id = o.page_id))
  or (o.domain_id is not null and not exists (select from domains d where d.id = o.domain_id));

-- check: each item of a SERP feature names a known page and a known host
select count(*) as violations
from search_features f
where (f.page_id is not null and not exists (select from pages p where p.id = f.page_id))
  or (f.domain_id is not null and not exists (select from domains d where d.id = f.domain_id));

-- check: each page names a known host
select count(*) as violations
from pages p
where p.domain_id is not null and not exists (select from domains d where d.id = p.domain_id);

-- check: each entity, topic and related query of an answer is known
select count(*) as violations
from (
  select from search_entities x where not exists (select from entities e where e.id = x.entity_id)
  union all
  select from search_clusters x where not exists (select from clusters c where c.id = x.cluster_id)
  union all
  select from search_related_searches x
  where not exists (select from related_searches r where r.id = x.related_search_id)
) orphans;
