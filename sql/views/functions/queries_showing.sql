-- Queries whose answers may show a page. Reads stored rows for finished days, and the answers for other days.
create or replace function analysis.queries_showing(keys text[], since date, until date) returns setof uuid
language sql stable parallel safe rows 100 as $$
  with named as materialized (
    select named.id
    from analysis.pages_of(queries_showing.keys) as named (id)
  )
  select seen_pages.query_id
  from public.seen_pages
  where seen_pages.page_id = any (array(select named.id from named))
  union
  select shown.query_id
  from analysis.unfinished_days
  cross join lateral (
    select observations.query_id
    from analysis.observations
    join public.organic_results on organic_results.search_id = observations.search_id
    where observations.run_date = unfinished_days.run_date
      and organic_results.page_id = any (array(select named.id from named))
    offset 0
  ) as shown
  where unfinished_days.run_date between queries_showing.since and queries_showing.until
$$;
comment on function analysis.queries_showing(text[], date, date) is 'Queries whose answers between two dates may show a page with one of the given url_keys. The result may include queries whose answers no longer show the page.';
