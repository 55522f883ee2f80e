-- Pages at positions 1 to 10 of an answer, either stored (for finished days) or computed from the results.
create or replace function analysis.pages_in(search bigint) returns table (page bigint)
language sql stable parallel safe rows 10 as $$
  select held.page
  from (select search as search_id) as asked
  left join public.finished_answers as kept
    on kept.search_id = asked.search_id
    and (kept.finish_id in (
      -- Includes the day that this transaction is storing, which other transactions cannot see yet.
      select finished_days.id
      from public.finished_days
      where finished_days.basis = (select analysis.basis())
    ))::integer <> 0
  cross join lateral (
    select unnest(kept.pages) as page
    union all
    select distinct hashtextextended(shown.url_key, 0)
    from analysis.shown_in(asked.search_id) as shown
    where kept.search_id is null
      and shown.position <= 10
      and shown.url_key is not null
  ) as held
$$;
comment on function analysis.pages_in(bigint) is 'Pages at positions 1 to 10 of one answer, each listed once, as a number derived from its address. Stored rows are used for answers from finished days.';
