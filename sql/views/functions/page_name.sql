-- Returns the url_key of a page without the leading www. of its host.
create or replace function analysis.page_name(url_key text) returns text
-- The function is not strict, because a strict function would be called for each row instead of being inlined.
language sql immutable parallel safe as $$
  select case when url_key like 'www._%' then substr(url_key, 5) else url_key end
$$;
comment on function analysis.page_name(text) is 'Returns a url_key without its leading www., so that addresses with and without www. can be compared.';
