-- Ids of the pages with the given url_keys. Pages with one url_key have ids that begin with the same four bytes, so an
-- index scan of the ids finds all spellings of an address. The pages are looked up key by key, because a join would read
-- all pages.
create or replace function analysis.pages_of(keys text[]) returns setof uuid
language sql stable parallel safe rows 10 as $$
  select listed.id
  from unnest(pages_of.keys) as wanted (url_key)
  cross join lateral (
    select encode(substr(sha256(convert_to('page' || chr(31) || wanted.url_key, 'UTF8')), 1, 4), 'hex') as start
    offset 0
  ) as ids
  cross join lateral (
    select pages.id
    from public.pages
    where pages.id between (ids.start || repeat('0', 24))::uuid and (ids.start || repeat('f', 24))::uuid
      and pages.url_key = wanted.url_key
    offset 0
  ) as listed
$$;
comment on function analysis.pages_of(text[]) is 'Ids of the pages with the given url_keys, in all spellings of their addresses.';
