-- Best place of each domain in two answers.
create or replace function analysis.places_of(search bigint, previous_search bigint, among text[] default null)
returns table (domain text, place bigint, previous_place bigint)
language sql stable parallel safe rows 10 as $$
  select coalesce(now.domain, before.domain), now.place, before.place
  from (
    select held.domain, held.place
    from analysis.domains_in(search, places_of.among) as held
    where held.place is not null
  ) as now
  full join (
    select held.domain, held.place
    from analysis.domains_in(previous_search, places_of.among) as held
    where held.place is not null
  ) as before on before.domain = now.domain
$$;
comment on function analysis.places_of(bigint, bigint, text[]) is 'Best place of each domain in two answers, as in public.result_domains. A place is null if the answer does not show the domain. The last argument restricts the result to the given domains.';
