-- Each brand's share of the clicks for a label, based on its best position for each query.
create or replace view analysis.brand_share as
with asked as not materialized (
  select run_date, tag, queries, weight
  from analysis.label_days
  where queries > 0
),
-- For brands with two or more domains, the best-ranking domain is determined for each answer.
several as materialized (
  select *
  from analysis.brands
  where (brand, ours) in (
    select brand, ours
    from analysis.brands
    group by brand, ours
    having min(domain) <> max(domain)
  )
)
select
  run_date,
  tag,
  held.brand,
  held.ours,
  held.clicks / nullif(asked.weight, 0) as share_of_voice,
  held.clicks / nullif(asked.weight, 0) / nullif((select ctr from analysis.ctr where position = 1), 0) as visibility,
  asked.queries,
  held.ranked,
  held.top_3,
  held.top_10,
  asked.weight
from (
  -- Rows are grouped instead of joined, so that the planner can apply filters on days, labels and brands to these rows.
  select
    run_date,
    tag,
    brand,
    ours,
    sum(ranked)::bigint as ranked,
    sum(top_3)::bigint as top_3,
    sum(top_10)::bigint as top_10,
    coalesce(sum(clicks), 0) as clicks
  from (
    -- The sums for a brand with one domain are that domain's sums, which are stored for finished days.
    select shares.run_date, shares.tag, alone.brand, alone.ours, shares.ranked, shares.top_3, shares.top_10, shares.clicks
    from (
      select brand, ours, min(domain) as domain
      from analysis.brands
      group by brand, ours
      having min(domain) = max(domain)
    ) as alone
    join analysis.label_shares as shares on shares.domain = alone.domain
    where shares.domain = any (array(select domain from analysis.brands))
      and exists (
        select
        from analysis.brands
        where brands.brand = alone.brand
          and brands.ours = alone.ours
          and (brands.since is null or brands.since <= shares.run_date)
          and (brands.until is null or brands.until >= shares.run_date)
      )
    union all
    select
      best.run_date, query_tags.tag, best.brand, best.ours,
      count(*) as ranked,
      count(*) filter (where best.position <= 3) as top_3,
      count(*) filter (where best.position <= 10) as top_10,
      sum(query_tags.weight * curve.ctr) as clicks
    from (
      select placed.query_id, placed.run_date, several.brand, several.ours, min(placed.place) >> 20 as position
      from (
        -- The results are grouped first, so that brands are looked up for only a few rows instead of for each result.
        select observations.query_id, observations.run_date, shown.domain, min(shown.place) as place
        from analysis.observations
        join public.result_domains as shown on shown.search_id = observations.search_id
        where shown.place is not null
          and shown.domain = any (array(select domain from several))
          -- This condition is evaluated once. If every brand has only one domain, no answers are read.
          and (select exists (select from several))
        group by observations.query_id, observations.run_date, shown.domain
      ) as placed
      join several
        on several.domain = placed.domain
        and (several.since is null or several.since <= placed.run_date)
        and (several.until is null or several.until >= placed.run_date)
      group by placed.query_id, placed.run_date, several.brand, several.ours
    ) as best
    join analysis.query_tags using (query_id, run_date)
    left join analysis.ctr as curve on curve.position = best.position
    group by best.run_date, query_tags.tag, best.brand, best.ours
    union all
    -- A brand has a row even on days on which the brand does not rank.
    select asked.run_date, asked.tag, brands.brand, brands.ours, 0, 0, 0, null
    from asked
    join analysis.brands
      on (brands.since is null or brands.since <= asked.run_date)
      and (brands.until is null or brands.until >= asked.run_date)
  ) as counted
  group by run_date, tag, brand, ours
) as held
join asked using (run_date, tag);
comment on view analysis.brand_share is 'Share of voice of our brands and rival brands. A brand is counted once for each query, with the best position of the domains that belong to it on the run date.';
comment on column analysis.brand_share.brand is 'Name of the brand.';
comment on column analysis.brand_share.ours is 'True for our own brands, false for rival brands.';
comment on column analysis.brand_share.share_of_voice is 'Share of clicks, from 0 to 1.';
comment on column analysis.brand_share.visibility is 'Share of voice, divided by the share of voice that would result from position 1 for every query. A value of 1 corresponds to position 1 for every query.';
comment on column analysis.brand_share.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.brand_share.ranked is 'Number of queries with the label for which the brand ranks, at any position.';
comment on column analysis.brand_share.top_3 is 'Number of queries for which the brand ranks in positions 1 to 3.';
comment on column analysis.brand_share.top_10 is 'Number of queries for which the brand ranks in positions 1 to 10.';
comment on column analysis.brand_share.weight is 'Sum of the weights of the queries with an observation.';
