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
named as materialized (
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
  union all
  select observations.query_id, search_related_searches.related_search_id
  from analysis.observations
  join search_related_searches on search_related_searches.search_id = observations.search_id
  where (select not kept or partly <> '{}' or unfinished <> '{}' from chosen)
    and (
      (select not kept from chosen)
      or observations.query_id = any ((select partly from chosen)::uuid[])
      or observations.run_date = any ((select unfinished from chosen)::date[])
    )
),
texts as materialized (
  select id, analysis.canonical(q) as q
  from related_searches
),
-- Texts have numbers in byte order, because numbers are compared much faster than texts.
numbered as materialized (
  select q, row_number() over (order by q collate "C")::integer as node
  from (select q from queries union select q from texts) as each_text
),
edges as materialized (
  select distinct sources.node as a, targets.node as b
  from named
  join (select queries.id, node from queries join numbered using (q)) as sources on sources.id = named.query_id
  join (select texts.id, node from texts join numbered using (q)) as targets on targets.id = named.related_search_id
  where sources.node <> targets.node
),
degrees as (
  select node, sum(towards) as in_degree, sum(1 - towards) as out_degree
  from (
    select b as node, 1 as towards from edges
    union all
    select a, 0 from edges
  ) as ends
  group by node
),
mutual as (
  select edges.a as node, count(*) as reciprocal
  from edges
  join edges as back on back.a = edges.b and back.b = edges.a
  group by edges.a
)
select
  named_node.q,
  degrees.in_degree,
  degrees.out_degree,
  coalesce(mutual.reciprocal, 0) as reciprocal,
  first_node.q as component,
  count(*) over (partition by found.component) as component_size
from (select array_agg(a) as a, array_agg(b) as b from (select a, b from edges order by a) as sorted) as ends
cross join lateral analysis.components(ends.a, ends.b) as found
-- Numbers that occur in no edge have no degrees.
join degrees on degrees.node = found.node
join numbered as named_node on named_node.node = found.node
join numbered as first_node on first_node.node = found.component
left join mutual on mutual.node = found.node;
comment on view analysis.related_nodes is 'Texts in the graph of related searches. Each text has an in-degree, an out-degree and a connected component.';
comment on column analysis.related_nodes.q is 'Text of a query or related search.';
comment on column analysis.related_nodes.in_degree is 'Number of distinct query texts whose answers suggest this text.';
comment on column analysis.related_nodes.out_degree is 'Number of distinct texts suggested in the answers for this text; 0 if this text was never queried.';
comment on column analysis.related_nodes.reciprocal is 'Number of texts that are linked to this text in both directions: answers for each text suggest the other.';
comment on column analysis.related_nodes.component is 'First text of the connected component, in byte order.';
comment on column analysis.related_nodes.component_size is 'Number of texts in the connected component.';
