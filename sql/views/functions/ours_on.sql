-- Domains that are ours on a given day, as used by all queries, views and pages.
create or replace function analysis.ours_on(day date) returns setof public.own_domains
language sql stable parallel safe rows 10 as $$
  select *
  from public.own_domains
  where (since is null or since <= day)
    and (until is null or until >= day)
$$;
comment on function analysis.ours_on(date) is 'Rows of own_domains that are valid on a day, as set by npm run domains.';
