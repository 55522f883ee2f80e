-- What a query is asked as, each as a label: beside the labels of lists, to slice by.
create or replace function analysis.kinds_of(device text, gl text, hl text, location text) returns text[]
language sql immutable parallel safe as $$
  select array_remove(array['device=' || device, 'country=' || gl, 'language=' || hl, 'place=' || location], null)
$$;
comment on function analysis.kinds_of(text, text, text, text) is 'Labels for the device, country, language and place of a query, such as device=mobile. Every view with a column tag has rows for them.';
