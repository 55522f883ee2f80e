-- The graph of related texts, node by node.
create or replace view analysis.related_nodes as
with edges as materialized (
  select distinct queries.q, texts.related
  from (
    -- As they are stored first: answers of many days name the same ones.
    select distinct observations.query_id, search_related_searches.related_search_id
    from analysis.observations
    join search_related_searches on search_related_searches.search_id = observations.search_id
  ) as named
  join queries on queries.id = named.query_id
  join (
    select id, analysis.canonical(q) as related
    from related_searches
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
comment on view analysis.related_nodes is 'Every text of the graph of related searches: how many name it, how many it names, and what it hangs together with.';
comment on column analysis.related_nodes.q is 'The text, ours or not.';
comment on column analysis.related_nodes.in_degree is 'Queries of ours, by text, whose answers call it related.';
comment on column analysis.related_nodes.out_degree is 'Texts that its own answers call related; 0 when we never asked it.';
comment on column analysis.related_nodes.reciprocal is 'Texts that it names and that name it.';
comment on column analysis.related_nodes.component is 'First text, in byte order, of all that it hangs together with.';
comment on column analysis.related_nodes.component_size is 'Texts in that component.';
