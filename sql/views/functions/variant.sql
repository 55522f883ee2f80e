-- Parameters that distinguish a query from other queries with the same text, in a short, readable form.
create or replace function analysis.variant(device text, location text, hl text, gl text, num integer) returns text
language sql stable parallel safe as $$
  -- A language and a country may have the same code, so each code is preceded by the name of its parameter.
  select concat_ws(', ', device, location, 'hl ' || hl, 'gl ' || gl, 'num ' || nullif(num, 10))
$$;
comment on function analysis.variant(text, text, text, text, integer) is 'Parameters of a query other than its text: device, place, language, country, and the number of results if it is not 10. The text is empty if none of these parameters is set.';
