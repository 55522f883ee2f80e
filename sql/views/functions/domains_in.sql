-- The domains of one answer with their best positions: stored for answers of finished days, and computed from the
-- results for others.
create or replace function analysis.domains_in(search bigint) returns table (domain text, place bigint)
language sql stable parallel safe rows 10 as $$
  select held.domain, held.place
  from (select search as search_id) as asked
  left join public.finished_answers as kept
    on kept.search_id = asked.search_id
    and (kept.finish_id in (
      select finished_days.id
      from public.finished_days
      where finished_days.made_at is not null
        and finished_days.basis = (select analysis.basis())
    ))::integer <> 0
  cross join lateral (
    select named.domain collate "C" as domain, named.place
    from unnest(kept.domains, kept.places) as named (domain, place)
    union all
    select shown.domain, min(shown.place)
    from analysis.shown_in(asked.search_id) as shown
    where kept.search_id is null
      and shown.domain is not null
    group by shown.domain
  ) as held
$$;
comment on function analysis.domains_in(bigint) is 'Domains in one answer, each with its best place as in result_domains; null for a domain without a place. The stored rows of answers of finished days are used.';
