-- Ranks new related searches by the weight and number of the queries whose answers suggest them. No parameters.
create temporary table frontier_ranked on commit drop as
select
  row_number() over (order by named.weight desc, named.sources desc, named.q, named.from_query) as place,
  named.q, named.round, named.from_query, named.sources, named.weight
from (
  select
    texts.q,
    min(texts.round) + 1 as round,
    (array_agg(texts.query_id order by texts.round, texts.weight desc, texts.query_id))[1] as from_query,
    count(*) as sources,
    sum(texts.weight) as weight
  from (
    -- If an answer contains several spellings of a text, the query is still counted only once.
    select distinct sources.query_id, sources.variant, sources.round, sources.weight, related.q
    from pg_temp.frontier_sources as sources
    join search_related_searches as named on named.search_id = sources.search_id
    join pg_temp.frontier_texts as related on related.id = named.related_search_id
    where related.q <> ''
  ) as texts
  group by texts.q, texts.variant
) as named
join queries as source on source.id = named.from_query
where not exists (
  select
  from queries as ours
  where ours.q = named.q
    and ours.location is not distinct from source.location
    and ours.hl is not distinct from source.hl
    and ours.gl is not distinct from source.gl
    and ours.device is not distinct from source.device
);
