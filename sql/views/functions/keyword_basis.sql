-- Hash of the entries in own_domains and rival_domains, on which the stored keywords depend.
create or replace function analysis.keyword_basis() returns text
language sql stable parallel safe as $$
  select md5(coalesce(string_agg(concat_ws(' ', ours, domain, since, until), ',' order by ours, domain, since), ''))
  from (
    select true as ours, domain, since, until from public.own_domains
    union all
    select false, domain, since, until from public.rival_domains
  ) as lines
$$;
comment on function analysis.keyword_basis() is 'Hash of the entries for our domains and rival domains. A day''s rows in finished_keywords are used only while this hash stays the same.';
