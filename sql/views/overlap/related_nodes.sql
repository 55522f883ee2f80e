-- Nodes in the graph of related searches.
create or replace view analysis.related_nodes as
-- Each related search is stored only for its first day, so all answers are read if any day is archived. All answers are
-- read for queries that were only sometimes in the slice.
with chosen as materialized (
  select
    analysis.basis() is not null and not exists (select from analysis.away_days) as kept,
    array(select query_id from analysis.sliced_queries() where not always) as partly,
    array(select run_date from analysis.unfinished_days) as unfinished
),
edges as materialized (
  select distinct queries.q, texts.related
  from (
    select kept.query_id, kept.related_search_id
    from finished_related as kept
    join finished_days on finished_days.id = kept.finish_id
    where finished_days.made_at is not null
      and finished_days.basis = (select analysis.basis())
      and (select chosen.kept from chosen)
      and case when (select analysis.slice() is not null)
        then (kept.query_id in (select query_id from analysis.sliced_queries() where always))::integer
        else 1
      end <> 0
    union
    select observations.query_id, search_related_searches.related_search_id
    from analysis.observations
    join search_related_searches on search_related_searches.search_id = observations.search_id
    where (select not kept or partly <> '{}' or unfinished <> '{}' from chosen)
      and (
        (select not kept from chosen)
        or observations.query_id = any ((select partly from chosen)::uuid[])
        or observations.run_date = any ((select unfinished from chosen)::date[])
      )
  ) as named
  join queries on queries.id = named.query_id
  join (
    select id, analysis.canonical(q) as related
    from related_searches
    -- "offset 0" keeps the subquery separate, so that each text is normalized only once.
    offset 0
  ) as texts on texts.id = named.related_search_id
  where queries.q <> texts.related
),
degrees as (
  select node, sum(towards) as in_degree, sum(1 - towards) as out_degree
  from (
    select related as node, 1 as towards from edges
    union all
    select q, 0 from edges
  ) as ends
  group by node
),
mutual as (
  select edges.q as node, count(*) as reciprocal
  from edges
  join edges as back on back.q = edges.related and back.related = edges.q
  group by edges.q
)
select
  found.node as q,
  degrees.in_degree,
  degrees.out_degree,
  coalesce(mutual.reciprocal, 0) as reciprocal,
  found.component,
  count(*) over (partition by found.component) as component_size
from (select array_agg(q) as a, array_agg(related) as b from edges) as ends
cross join lateral analysis.components(ends.a, ends.b) as found
join degrees on degrees.node = found.node
left join mutual on mutual.node = found.node;
comment on view analysis.related_nodes is 'Texts in the graph of related searches. Each text has an in-degree, an out-degree and a connected component.';
comment on column analysis.related_nodes.q is 'Text of a query or related search.';
comment on column analysis.related_nodes.in_degree is 'Number of distinct query texts whose answers suggest this text.';
comment on column analysis.related_nodes.out_degree is 'Number of distinct texts suggested in the answers for this text; 0 if this text was never queried.';
comment on column analysis.related_nodes.reciprocal is 'Number of texts that are linked to this text in both directions: answers for each text suggest the other.';
comment on column analysis.related_nodes.component is 'First text of the connected component, in byte order.';
comment on column analysis.related_nodes.component_size is 'Number of texts in the connected component.';
