-- Domains in one answer with their best positions: stored for finished days, otherwise computed from the results.
create or replace function analysis.domains_in(search bigint, among text[] default null)
returns table (domain text, place bigint)
language sql stable parallel safe rows 10 as $$
  select held.domain, held.place
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
    -- unnest is in the select list, because it is several times slower in the "from" clause.
    select unnest(kept.domains) collate "C" as domain, unnest(kept.places) as place
    union all
    select live.domain, live.place
    from (
      select shown.domain, min(shown.place) as place
      from analysis.shown_in(asked.search_id) as shown
      where shown.domain is not null
      group by shown.domain
    ) as live
    where kept.search_id is null
  ) as held
  -- The conditions are separate, so that the second one is checked before a stored list is unnested.
  where (domains_in.among is null or held.domain = any (domains_in.among))
    and (domains_in.among is null or kept.search_id is null or kept.domains && domains_in.among)
$$;
comment on function analysis.domains_in(bigint, text[]) is 'Domains in one answer, each with its best place (as in result_domains), which may be null. Stored rows are used for answers from finished days. The second argument restricts the result to the given domains.';
