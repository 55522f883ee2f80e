-- Parameters that distinguish a query, given by its id, from other queries with the same text.
create or replace function analysis.variant_of(query uuid) returns text
language sql stable parallel safe as $$
  select analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num)
  from public.queries
  where queries.id = query
$$;
comment on function analysis.variant_of(uuid) is 'Parameters of a query other than its text, as returned by analysis.variant.';
