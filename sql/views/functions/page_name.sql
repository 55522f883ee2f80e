-- A page whatever its host is called: with and without www. it is the same.
create or replace function analysis.page_name(url_key text) returns text
language sql immutable strict parallel safe as $$
  select regexp_replace(url_key, '^www\.(?=.)', '')
$$;
comment on function analysis.page_name(text) is 'A url_key without a leading www., to compare pages across a move from or to www.';
