-- Groups of queries that split, merged, came and went between two days.
create or replace function analysis.group_changes(since date, until date, least_shared integer default 4)
returns table (change text, cluster text, previous_cluster text, queries bigint, size bigint, previous_size bigint)
language sql stable as $$
  -- Of queries that both days answer: what was not asked has not left its group.
  with both_days as materialized (
    select query_id from analysis.observations where run_date = until
    intersect
    select query_id from analysis.observations where run_date = since
  ),
  now as materialized (
    select found.cluster_id, found.cluster, found.query_id, count(*) over (partition by found.cluster_id) as size
    from analysis.keyword_clusters_on(until, least_shared) as found
    join both_days using (query_id)
  ),
  before as materialized (
    select found.cluster_id, found.cluster, found.query_id, count(*) over (partition by found.cluster_id) as size
    from analysis.keyword_clusters_on(since, least_shared) as found
    join both_days using (query_id)
  ),
  joined as materialized (
    select
      now.cluster_id, before.cluster_id as previous_cluster_id,
      max(now.cluster) as cluster, max(before.cluster) as previous_cluster,
      count(*) as queries, max(now.size) as size, max(before.size) as previous_size
    from now
    full join before using (query_id)
    group by now.cluster_id, before.cluster_id
  )
  select
    case
      when joined.cluster_id is null and heirs.groups = 0 then 'gone'
      when joined.cluster_id is null then 'left'
      when joined.previous_cluster_id is null and origins.groups = 0 then 'new'
      when joined.previous_cluster_id is null then 'joined'
      when heirs.groups > 1 and origins.groups > 1 then 'split and merged'
      when heirs.groups > 1 then 'split'
      when origins.groups > 1 then 'merged'
      else 'kept'
    end,
    joined.cluster, joined.previous_cluster, joined.queries, joined.size, joined.previous_size
  from joined
  cross join lateral (
    select count(other.cluster_id) as groups
    from joined as other
    where other.previous_cluster_id = joined.previous_cluster_id
  ) as heirs
  cross join lateral (
    select count(other.previous_cluster_id) as groups
    from joined as other
    where other.cluster_id = joined.cluster_id
  ) as origins
$$;
comment on function analysis.group_changes(date, date, integer) is 'What became of groups of queries (analysis.keyword_clusters_on) between two days, for queries that both days answer: a row for each group of either day and each that it shares queries with. change: split (its queries stand in several groups now), merged (they come from several), split and merged, kept, new and gone (no query of it was in a group before, or is in one now), joined and left (queries that were in no group, or are in none any more).';
