-- Reads the first results in a query's answers, newest day first, with the SERP features of each answer. Parameters:
-- :query (uuid), :since, :until (date), :places, :most (integer).
select
  observed.run_date as "runDate", observed.depth, features.kinds as features,
  shown.page_id as page, shown.url_key as "pageKey", shown.domain, shown.title, shown.position
from (
  select *
  from analysis.observations
  where observations.query_id = :query
    and observations.run_date between :since::date and :until::date
    and observations.evidence = 'bought'
  order by observations.run_date desc
  limit :most::integer
  offset 0
) as observed
cross join lateral (
  select coalesce(array_agg(distinct kind order by kind), '{}') as kinds
  from public.search_features
  where search_features.search_id = observed.search_id
) as features
left join public.result_domains as shown
  on shown.search_id = observed.search_id
  and shown.position <= :places::integer
order by observed.run_date desc, shown.position, shown.ordinal;
