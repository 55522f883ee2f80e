-- Results in the answer with the given id. A test compares these rows with public.result_domains.
create or replace function analysis.shown_in(search bigint) returns setof public.result_domains
language sql stable parallel safe rows 10 as $$
  select
    shown.search_id,
    shown.ordinal,
    shown.position,
    shown.page_id,
    case
      when coalesce(named.domain, addressed.domain) like any ((select analysis.site_patterns())::text[])
        then analysis.site_of(coalesce(named.domain, addressed.domain), addressed.url_key)
      else coalesce(named.domain, addressed.domain)
    end,
    coalesce(named.site, addressed.site),
    shown.title,
    shown.snippet,
    case when shown.position between 0 and 1099511627775 then (shown.position << 20) | shown.ordinal end,
    pages.url_key
  from public.organic_results as shown
  left join public.domains as named on named.id = shown.domain_id
  -- This join is needed only for url_key, and is skipped in queries that do not use url_key.
  left join public.pages on pages.id = shown.page_id
  -- Looks up the address of results without a host, or with a host whose folders count separately. Because one answer
  -- has few results, these lookups cost less than a join.
  left join lateral (
    select
      addresses.url_key,
      case when shown.domain_id is null then domains.domain end as domain,
      case when shown.domain_id is null then domains.site end as site
    from public.pages as addresses
    left join public.domains on domains.id = addresses.domain_id
    where addresses.id = shown.page_id
      and (shown.domain_id is null or named.domain like any ((select analysis.site_patterns())::text[]))
    offset 0
  ) as addressed on true
  where shown.search_id = search
  -- "offset 0" keeps the subquery separate; otherwise, the planner would expect too many answers and read all
  -- results.
  offset 0
$$;
comment on function analysis.shown_in(bigint) is 'Rows of result_domains for one answer. A join with one day''s answers does not read the results of other days.';
