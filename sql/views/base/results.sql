-- All organic results in all observations, in readable form.
create or replace view analysis.results as
select
  observations.query_id,
  queries.q,
  observations.run_date,
  result_domains.position,
  result_domains.domain,
  pages.url,
  result_domains.title,
  result_domains.snippet,
  observations.depth,
  observations.fetched_at,
  observations.search_id,
  result_domains.ordinal,
  pages.url_key,
  result_domains.page_id,
  result_domains.site
from analysis.observations
join public.result_domains on result_domains.search_id = observations.search_id
left join pages on pages.id = result_domains.page_id
left join queries on queries.id = observations.query_id;
comment on view analysis.results is 'Organic results in every observation, with title, snippet, address and domain.';
comment on column analysis.results.position is 'Position that the API reports; null if the API reports no readable position.';
comment on column analysis.results.ordinal is 'Index of the result in the answer, starting at 1.';
comment on column analysis.results.page_id is 'Id of the page; null if the result has no address.';
