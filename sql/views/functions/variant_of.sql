-- Parameters that distinguish a query from others with the same text, by its id.
create or replace function analysis.variant_of(query uuid) returns text
language sql stable parallel safe as $$
  select analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num)
  from public.queries
  where queries.id = query
$$;
comment on function analysis.variant_of(uuid) is 'Parameters of a query besides its text, as returned by analysis.variant.';
