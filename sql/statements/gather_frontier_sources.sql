-- Collects the source queries of an expansion in a temporary table, each with its newest answer and its weight.
-- Parameters: :list and :into (list ids, bigint), :from and :until (rounds), :origin, :api.
create temporary table frontier_sources on commit drop as
select
  sources.query_id, sources.round, sources.weight, latest.search_id,
  -- Replaces a query's parameters with one number, because comparing numbers is faster
  -- than comparing five text columns.
  dense_rank() over (order by latest.location, latest.hl, latest.gl, latest.num, latest.device) as variant
from (
  select query_id, 0 as round, coalesce(weight, 1) as weight
  from list_queries
  where list_id = :list::bigint
    and :from::integer = 0
    and last_seen = (select max(last_seen) from list_queries where list_id = :list::bigint)
  union all
  -- Divides the sum of the source queries' weights by their number, so that the query counts once.
  select query_id, round, weight / sources
  from expansions
  where list_id = :into::bigint
    and origin = :origin::text
    and round between :from::integer and :until::integer
) as sources
join analysis.latest on latest.query_id = sources.query_id
where latest.api = :api::text;
