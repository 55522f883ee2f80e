-- Groups of queries that split, merged, appeared or disappeared between two days.
create or replace function analysis.group_changes(since date, until date, least_shared integer default 4)
returns table (change text, group_name text, previous_group text, queries bigint, size bigint, previous_size bigint)
language sql stable as $$
  -- Only queries answered on both days count, because a query that was not asked has not left its group.
  with both_days as materialized (
    select query_id from analysis.observations where run_date = until
    intersect
    select query_id from analysis.observations where run_date = since
  ),
  now as materialized (
    select found.group_id, found.group_name, found.query_id, count(*) over (partition by found.group_id) as size
    from analysis.keyword_groups_on(until, least_shared) as found
    join both_days using (query_id)
  ),
  before as materialized (
    select found.group_id, found.group_name, found.query_id, count(*) over (partition by found.group_id) as size
    from analysis.keyword_groups_on(since, least_shared) as found
    join both_days using (query_id)
  ),
  joined as materialized (
    select
      now.group_id, before.group_id as previous_group_id,
      max(now.group_name) as group_name, max(before.group_name) as previous_group,
      count(*) as queries, max(now.size) as size, max(before.size) as previous_size
    from now
    full join before using (query_id)
    group by now.group_id, before.group_id
  )
  select
    case
      when joined.group_id is null and heirs.groups = 0 then 'gone'
      when joined.group_id is null then 'left'
      when joined.previous_group_id is null and origins.groups = 0 then 'new'
      when joined.previous_group_id is null then 'joined'
      when heirs.groups > 1 and origins.groups > 1 then 'split and merged'
      when heirs.groups > 1 then 'split'
      when origins.groups > 1 then 'merged'
      else 'kept'
    end,
    joined.group_name, joined.previous_group, joined.queries, joined.size, joined.previous_size
  from joined
  cross join lateral (
    select count(other.group_id) as groups
    from joined as other
    where other.previous_group_id = joined.previous_group_id
  ) as heirs
  cross join lateral (
    select count(other.previous_group_id) as groups
    from joined as other
    where other.group_id = joined.group_id
  ) as origins
$$;
comment on function analysis.group_changes(date, date, integer) is 'Changes in the query groups (analysis.keyword_groups_on) between two days, for queries answered on both days. If a row has two groups (split, merged, split and merged, or kept), these groups share queries. Groups that share no queries with a group from the other day are new or gone. A query has joined if it was not in a group before, and has left if it is no longer in a group.';
