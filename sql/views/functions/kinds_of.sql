-- Labels for the parameters of a query, used in slices in addition to list labels.
create or replace function analysis.kinds_of(device text, gl text, hl text, location text) returns text[]
language sql immutable parallel safe as $$
  select array_remove(array['device=' || device, 'country=' || gl, 'language=' || hl, 'place=' || location], null)
$$;
comment on function analysis.kinds_of(text, text, text, text) is 'Labels for the device, country, language and place of a query, such as device=mobile. Every view with a tag column has rows for these labels.';
