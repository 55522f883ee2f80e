-- Groups of queries on one day, connected by pairs that share enough pages.
create or replace function analysis.keyword_groups_on(night date, least_shared integer default 4)
returns table (
  run_date date, group_name text, query_id uuid, q text, weight double precision, size bigint, group_id uuid
)
language sql stable as $$
  with kept as materialized (
    select case when least_shared = 4 and analysis.slice() is null then analysis.finished_on(night) end as finish_id
  ),
  pairs as materialized (
    select overlap.query_id as a, overlap.other_query_id as b
    from kept
    cross join lateral analysis.serp_overlap_on(night, least_shared) as overlap
    where kept.finish_id is null
  ),
  numbered as materialized (
    select query_id, row_number() over (order by query_id)::integer as node
    from (select a as query_id from pairs union select b from pairs) as ends
  ),
  members as (
    select finished_groups.query_id, finished_groups.group_id as component
    from public.finished_groups
    where finished_groups.finish_id = (select finish_id from kept)
    union all
    select member.query_id, first.query_id
    from (
      select array_agg(one.node) as a, array_agg(other.node) as b
      from pairs
      join numbered as one on one.query_id = pairs.a
      join numbered as other on other.query_id = pairs.b
    ) as edges
    cross join lateral analysis.components(edges.a, edges.b) as found
    join numbered as member on member.node = found.node
    join numbered as first on first.node = found.component
  )
  select
    -- As a subquery, because an expression that the caller passes would be computed again for each row.
    (select night),
    first_value(queries.q) over (
      partition by members.component order by query_days.weight desc nulls last, queries.q
    ),
    members.query_id,
    queries.q,
    query_days.weight,
    count(*) over (partition by members.component),
    members.component
  from members
  left join public.queries on queries.id = members.query_id
  left join analysis.query_days on query_days.query_id = members.query_id and query_days.run_date = night
$$;
comment on function analysis.keyword_groups_on(date, integer) is 'Groups of queries on one day. Two queries are connected if their top 10 results share a minimum number of pages, 4 by default. Unlike in analysis.heavier_twins, a chain of connected queries forms one group.';
