-- Which related searches were taken, in which round, and whose answer named them?
-- :list = (name of the list, the expanded one or that which took; empty: all)
-- :rows = 30 (how many)
select
  lists.name as list, expansions.round, queries.q,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
  named.q as from_q, expansions.sources, expansions.weight, tasks.state
from expansions
join lists on lists.id = expansions.list_id
join lists as expanded on expanded.id = expansions.source_list_id
join queries on queries.id = expansions.query_id
join queries as named on named.id = expansions.from_query
left join tasks on tasks.run_id = expansions.run_id and tasks.query_id = expansions.query_id
where (:list::text is null or lists.name = :list or expanded.name = :list)
  and expansions.origin = any (analysis.origins())
order by list, expansions.round, expansions.weight desc, expansions.sources desc, queries.q
limit :rows::integer;
