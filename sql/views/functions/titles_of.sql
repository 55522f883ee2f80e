-- Pages whose titles differ between two answers. If an answer shows an address twice, the first title is used.
create or replace function analysis.titles_of(search bigint, previous_search bigint)
returns table (
  domain text, url_key text, "position" bigint, previous_title text, title text, previous_snippet text, snippet text
)
language sql stable parallel safe as $$
  select
    shown.domain, shown.url_key, shown.position, before.title, shown.title, before.snippet, shown.snippet
  from analysis.shown_in(search) as shown
  join public.organic_results as before
    on before.search_id = previous_search
    and before.page_id = shown.page_id
  where before.title is distinct from shown.title
    and not exists (
      select
      from public.organic_results as first
      where first.search_id = search
        and first.page_id = shown.page_id
        and first.ordinal < shown.ordinal
    )
    and not exists (
      select
      from public.organic_results as first
      where first.search_id = previous_search
        and first.page_id = before.page_id
        and first.ordinal < before.ordinal
    )
$$;
comment on function analysis.titles_of(bigint, bigint) is 'Pages whose titles differ between two answers. The arguments are the id of the answer and the id of the previous answer.';
