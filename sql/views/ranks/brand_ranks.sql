-- Best position of each brand in each observation, even if an answer shows several of the brand's domains.
create or replace view analysis.brand_ranks as
select distinct on (ranks.query_id, ranks.run_date, brands.brand, brands.ours)
  ranks.query_id,
  ranks.q,
  ranks.run_date,
  brands.brand,
  brands.ours,
  ranks.position,
  ranks.domain,
  ranks.url_key,
  ranks.depth,
  ranks.fetched_at,
  ranks.search_id
from analysis.ranks
join analysis.brands
  on brands.domain = ranks.domain
  and (brands.since is null or brands.since <= ranks.run_date)
  and (brands.until is null or brands.until >= ranks.run_date)
-- The domains are computed first, as an array, so that only the results of these domains are read.
where ranks.domain = any (array(select domain from analysis.brands))
order by ranks.query_id, ranks.run_date, brands.brand, brands.ours, ranks.position, ranks.domain;
comment on view analysis.brand_ranks is 'Best position of each brand in each observation, over the domains that belong to the brand on the run date. A brand without a row is not ranked.';
comment on column analysis.brand_ranks.brand is 'Name of the brand.';
comment on column analysis.brand_ranks.ours is 'True for our own brands, false for rival brands.';
comment on column analysis.brand_ranks.position is 'Best position of the brand.';
comment on column analysis.brand_ranks.domain is 'Domain of the brand that holds the best position.';
comment on column analysis.brand_ranks.url_key is 'Page at the best position: its address without scheme, fragment, tracking parameters or trailing slash.';
