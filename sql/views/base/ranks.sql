-- Best position of each domain in each observation, even if an answer shows several of the domain's pages.
create or replace view analysis.ranks as
select
  best.query_id,
  queries.q,
  best.run_date,
  best.domain,
  best.place >> 20 as position,
  pages.url_key,
  pages.url,
  best.results,
  best.depth,
  best.fetched_at,
  best.search_id
from (
  select
    observations.query_id, observations.run_date, observations.search_id,
    max(observations.depth) as depth,
    max(observations.fetched_at) as fetched_at,
    result_domains.domain,
    min(result_domains.place) as place,
    count(*) as results
  from analysis.observations
  join public.result_domains on result_domains.search_id = observations.search_id
  where result_domains.place is not null
    and result_domains.domain is not null
  group by observations.query_id, observations.run_date, observations.search_id,
    result_domains.domain
) as best
left join organic_results as shown on shown.search_id = best.search_id and shown.ordinal = (best.place & 1048575)
left join pages on pages.id = shown.page_id
left join queries on queries.id = best.query_id;
comment on view analysis.ranks is 'Best position of each domain in each observation. A domain without a row is not ranked. analysis.rank_history also has rows for domains that are not ranked.';
comment on column analysis.ranks.position is 'Best position of the domain.';
comment on column analysis.ranks.url_key is 'Page at the best position: its address without scheme, fragment, tracking parameters or trailing slash.';
comment on column analysis.ranks.url is 'Full address of the page at the best position.';
comment on column analysis.ranks.results is 'Number of results from the domain in the answer.';
