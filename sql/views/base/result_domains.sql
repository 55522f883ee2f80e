-- Organic results with their domains. This view defines how results are attributed to domains.
create or replace view public.result_domains as
select
  organic_results.search_id,
  organic_results.ordinal,
  organic_results.position,
  organic_results.page_id,
  case
    -- The patterns are computed once. Usually, no domain entry contains a folder or a wildcard,
    -- so no lookup is needed.
    when domains.domain like any ((select analysis.site_patterns())::text[])
      then analysis.site_of(domains.domain, pages.url_key)
    else domains.domain
  end as domain,
  domains.site,
  organic_results.title,
  organic_results.snippet,
  -- A single number can be compared and copied much faster than two numbers. A position of 2^40 or
  -- more is treated as missing.
  case when organic_results.position between 0 and 1099511627775
    then (organic_results.position << 20) | organic_results.ordinal
  end as place,
  pages.url_key
from organic_results
left join pages on pages.id = organic_results.page_id
-- If a result has no host, the host of its address is used. A single join covers results with and
-- without a host.
left join domains on domains.id = coalesce(organic_results.domain_id, pages.domain_id);
comment on view public.result_domains is 'Organic results in all answers from every origin, each with the domain to which the result is attributed. For analysis, use analysis.results.';
comment on column public.result_domains.ordinal is 'Index of the result in the answer, starting at 1.';
comment on column public.result_domains.position is 'Position that the API reports; null if the API reports no readable position.';
comment on column public.result_domains.page_id is 'Id of the page; null if the result has no address.';
comment on column public.result_domains.place is 'Position and ordinal in one number: position = place >> 20, ordinal = place & 1048575. The lowest number is the best position.';
