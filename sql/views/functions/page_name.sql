-- A page without the leading www. of its host.
create or replace function analysis.page_name(url_key text) returns text
-- Not strict: a strict function would be called for each row instead of being inlined.
language sql immutable parallel safe as $$
  select case when url_key like 'www._%' then substr(url_key, 5) else url_key end
$$;
comment on function analysis.page_name(text) is 'A url_key without a leading www., for comparing pages across a move to or from www.';
