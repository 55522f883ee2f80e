-- Which related searches are not queries yet, and for how many queries is each suggested?
-- :top = 30 (number of rows)
select q, sources, weight, example
from analysis.untracked_related
order by sources desc, weight desc, q
limit :top::integer;

-- show most: Which related searches are suggested for the largest number of our queries?
-- :top = 30 (number of rows)
select q, in_degree, out_degree, reciprocal, component, component_size
from analysis.related_nodes
order by in_degree desc, q
limit :top::integer;

-- show taken: Which related searches were added to a list, in which round, and from which query?
-- :list = (name of the expanded list or of the new list; empty: all lists)
-- :top = 30 (number of rows)
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
limit :top::integer;

-- show rounds: What did each round of an expansion cost, and how many new pages and domains did it find?
-- unsliced: each round is counted as a whole
-- :list = (name of the expanded list or of the new list; empty: all lists)
select
  list, round, queries, answers, credits_used, new_pages, new_domains,
  round(new_pages_per_answer::numeric, 2) as new_pages_per_answer,
  round(new_domains_per_answer::numeric, 2) as new_domains_per_answer,
  round(new_domains_per_credit::numeric, 2) as new_domains_per_credit
from analysis.expansion_rounds
where (:list::text is null or list = :list or source_list = :list)
order by list, round;
