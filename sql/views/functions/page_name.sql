-- A page whatever its host is called: with and without www. it is the same.
create or replace function analysis.page_name(url_key text) returns text
-- Not strict, or it would be called for each row rather than be read as a part of the question.
language sql immutable parallel safe as $$
  select case when url_key like 'www._%' then substr(url_key, 5) else url_key end
$$;
comment on function analysis.page_name(text) is 'A url_key without a leading www., for comparing pages across a move to or from www.';
