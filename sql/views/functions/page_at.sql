-- Page of one result, given the result's place in an answer.
create or replace function analysis.page_at(search bigint, place bigint) returns table (url_key text)
language sql stable parallel safe rows 1 as $$
  select pages.url_key
  from public.organic_results as shown
  join public.pages on pages.id = shown.page_id
  where shown.search_id = page_at.search
    and shown.ordinal = (page_at.place & 1048575)
  -- Looks up each page by its key. Otherwise, a caller with many places would read all results.
  offset 0
$$;
comment on function analysis.page_at(bigint, bigint) is 'Returns the url_key of the result at a place in an answer; no row if the result has no address. The place is the number in public.result_domains.place.';
