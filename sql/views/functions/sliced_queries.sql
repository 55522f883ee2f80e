-- Queries in the current slice on any finished day, with a flag for queries in the slice on every finished day.
create or replace function analysis.sliced_queries() returns table (query_id uuid, always boolean)
language sql stable parallel safe as $$
  select kept.query_id, bool_and(kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))
  from (
    -- Most queries have the same labels on all days.
    select finished_queries.query_id, finished_queries.set_id
    from public.finished_queries
    where finished_queries.earliest
      and (select analysis.slice() is not null)
    union all
    -- An archived day may remain after the sums of earlier days have been deleted or changed.
    select finished_queries.query_id, finished_queries.set_id
    from public.finished_queries
    where (select analysis.slice() is not null and exists (select from public.archived_days))
  ) as kept
  group by kept.query_id
  having bool_or(kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))
$$;
comment on function analysis.sliced_queries() is 'Queries that belonged to analysis.slice() on at least one finished day. The always column is true if the query belonged to the slice on every finished day that contains the query.';
