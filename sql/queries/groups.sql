-- Which queries belong together because their answers share pages?
-- :day = newest (run date; newest: the newest full day)
-- :shared = 4 (minimum number of common pages in the top 10)
select
  groups.group_name, groups.size, groups.q, groups.weight,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
  groups.group_id
from analysis.keyword_groups_on(
  :day::date,
  :shared::integer
) as groups
join queries on queries.id = groups.query_id
order by size desc, group_name, group_id, weight desc nulls last, q, variant;

-- show twins: Which queries could be replaced by a query with a higher weight, because their answers share pages?
select
  hubs.heavier_twin, hubs.q, hubs.weight, hubs.shared,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
  analysis.variant(others.device, others.location, others.hl, others.gl, others.num) as twin_variant
from analysis.heavier_twins as hubs
join queries on queries.id = hubs.query_id
join queries as others on others.id = hubs.twin_query_id
order by heavier_twin, twin_variant, hubs.twin_query_id, weight desc nulls last, q, variant;

-- show pairs: Which pairs of queries have answers that share pages on a day?
-- :day = newest (run date; newest: the newest full day)
-- :shared = 4 (minimum number of common pages in the top 10)
-- :top = 50 (number of rows)
select
  q, other_q, shared, round(jaccard::numeric, 2) as jaccard,
  analysis.variant_of(query_id) as variant, analysis.variant_of(other_query_id) as other_variant
from analysis.serp_overlap_on(
  :day::date,
  :shared::integer
)
order by shared desc, jaccard desc, q, other_q, variant, other_variant
limit :top::integer;

-- show changes: Which groups of queries split, merged, appeared or disappeared between two days?
-- :day = newest (the later day; newest: the newest full day)
-- :days = 7 (number of days between the two days, if --since is not given)
-- :shared = 4 (minimum number of common pages in the top 10)
select change, previous_group, group_name, queries, previous_size, size
from analysis.group_changes(analysis.since(:day::date, :days::integer), :day::date, :shared::integer)
order by change = 'kept', change, queries desc, previous_group, group_name;

-- show devices: How much do the answers to the same text differ between devices and places?
-- :day = newest (run date; newest: the newest full day)
select q, variant, other_variant, shared, round(divergence::numeric, 2) as divergence
from analysis.serp_divergence
where run_date = :day::date
order by divergence desc, q, variant, other_variant;
