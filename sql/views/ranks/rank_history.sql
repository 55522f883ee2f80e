-- Where a domain stood for a query on each day, "not ranked" included.
create or replace view analysis.rank_history as
select
  observations.query_id,
  observations.q,
  pairs.domain,
  observations.run_date,
  ranks.position,
  ranks.url_key,
  ranks.url,
  observations.depth,
  observations.evidence,
  observations.fetched_at,
  observations.search_id
from (
  select observations.query_id, result_domains.domain
  from analysis.observations
  join public.result_domains on result_domains.search_id = observations.search_id
  where result_domains.position is not null
    and result_domains.domain is not null
  union
  select observations.query_id, own_domains.domain
  from analysis.observations
  cross join own_domains
) as pairs
join analysis.observations on observations.query_id = pairs.query_id
left join analysis.ranks
  on ranks.query_id = pairs.query_id
  and ranks.run_date = observations.run_date
  and ranks.domain = pairs.domain;
comment on view analysis.rank_history is 'Where a domain stood for a query: one row for each observation of the query, for every domain that any answer to the query ever showed, and for our own domains.';
comment on column analysis.rank_history.position is 'Best place of the domain; null: not in the answer, which was depth deep. Never 0, never 100.';
comment on column analysis.rank_history.url_key is 'The page at that place, without scheme, fragment, tracking parameters and closing slash.';
comment on column analysis.rank_history.url is 'The page at that place.';
comment on column analysis.rank_history.evidence is 'bought for that day, or reused: an older answer that was still young enough; fetched_at tells its age.';
