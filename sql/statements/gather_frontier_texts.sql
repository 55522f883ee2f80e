-- Collects the distinct related searches in the answers to the source queries, normalized like queries. No parameters.
create temporary table frontier_texts on commit drop as
-- Sorting is several times faster with a bytewise comparison than with a language-specific
-- collation.
select id, analysis.canonical(q) collate "C" as q
from related_searches
where id in (
  select named.related_search_id
  from pg_temp.frontier_sources as sources
  join search_related_searches as named on named.search_id = sources.search_id
);
