-- What did the answers to a query show besides results that can be read, day by day?
-- :q (text of the query)
select
  observations.run_date,
  array(
    select part.key
    from jsonb_each(case when jsonb_typeof(searches.extra) = 'object' then searches.extra else '{}' end) as part
    where part.value not in ('null', '[]', '{}', '""', 'false')
    order by part.key
  ) as parts,
  observations.depth, observations.search_id,
  analysis.variant(observations.device, observations.location, observations.hl, observations.gl, observations.num) as variant
from queries
cross join lateral (
  select *
  from analysis.observations
  where observations.query_id = queries.id
  offset 0
) as observations
join searches on searches.id = observations.search_id
where lower(queries.q) = lower(analysis.canonical(:q))
order by variant, observations.query_id, observations.run_date;
