-- Queries in the current slice on any finished day, with a flag for queries in the slice on every finished day.
create or replace function analysis.sliced_queries() returns table (query_id uuid, always boolean)
language sql stable parallel safe as $$
  select kept.query_id, bool_and(kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))
  from public.finished_days
  join public.finished_queries as kept on kept.finish_id = finished_days.id
  where finished_days.made_at is not null
    and (select analysis.slice() is not null)
  group by kept.query_id
  having bool_or(kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))
$$;
comment on function analysis.sliced_queries() is 'Queries that belonged to analysis.slice() on at least one finished day. The always column is true if the query belonged to the slice on every finished day that contains the query.';
