-- Hash of all inputs to the sums for finished days, except the answers; null if the sums must not be used.
create or replace function analysis.basis() returns text
language sql stable parallel safe as $$
  select case
    when not analysis.shows_suspects()
      then md5(concat_ws(
        chr(31),
        array_to_string(analysis.origins(), ','),
        (select string_agg(ctr.position || ' ' || ctr.ctr, ',' order by ctr.position) from analysis.ctr),
        (
          select string_agg(domain, ',' order by domain)
          from (
            select domain from public.own_domains
            union
            select domain from public.rival_domains
          ) as lines
          where domain like '*.%'
            or domain like '%/%'
        )
      ))
  end
$$;
comment on function analysis.basis() is 'Hash of everything but the answers that affects sums for finished days: origins, the click curve, and domain entries with folders or wildcards. Sums stored with a different hash are not used. Null if suspect runs are shown, because the stored sums never include suspect runs.';
