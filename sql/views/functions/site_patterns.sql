-- Patterns for hosts whose domain entries contain folders or wildcards. Usually, there are no such
-- entries.
create or replace function analysis.site_patterns() returns text[]
language sql stable parallel safe as $$
  select array_agg(distinct pattern)
  from (
    select replace(replace(split_part(domain, '/', 1), '\', '\\'), '_', '\_') as host
    from (
      select domain from public.own_domains
      union all
      select domain from public.rival_domains
    ) as told
    where domain like '*.%'
      or domain like '%/%'
  ) as lines
  cross join lateral unnest(
    case when host like '*.%' then array[substr(host, 3), '%' || substr(host, 2)] else array[host] end
  ) as pattern
$$;
comment on function analysis.site_patterns() is 'LIKE patterns for hosts whose results may belong to a domain entry such as *.example.com or example.com/folder; null if there is no such entry.';
