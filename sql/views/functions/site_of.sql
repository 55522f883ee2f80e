-- Domain to which a page is attributed, if domain entries contain folders or wildcards.
create or replace function analysis.site_of(host text, url_key text) returns text
language sql stable parallel safe as $$
  select coalesce(
    (
      select lines.domain
      from (
        select domain from public.own_domains
        union
        select domain from public.rival_domains
      ) as lines
      cross join lateral (
        select
          lines.domain like '*.%' as wide,
          regexp_replace(split_part(lines.domain, '/', 1), '^\*\.', '') as root,
          substring(lines.domain from '/.*$') as folder,
          coalesce(substring(site_of.url_key from '/.*$'), '') as path
      ) as parts
      where (root = site_of.host or wide and right(site_of.host, length(root) + 1) = '.' || root)
        and (
          folder is null
          or path = folder
          or starts_with(path, folder || '/')
          or starts_with(path, folder || '?')
        )
      -- The most specific entry comes first: a host before a wildcard, then the longest host, then
      -- the longest folder.
      order by wide, length(root) desc, length(folder) desc nulls last
      limit 1
    ),
    site_of.host
  ) collate "C"
$$;
comment on function analysis.site_of(text, text) is 'Domain to which a page is attributed: the host without a leading www., unless an entry for our domains or rival domains has a matching folder or wildcard. If several entries match, the most specific entry is used. The dates of entries are ignored.';
