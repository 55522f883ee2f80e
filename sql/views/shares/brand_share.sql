-- Which share of the clicks of a label each brand gets, by its best place for each query.
create or replace view analysis.brand_share as
with asked as not materialized (
  select query_tags.run_date, query_tags.tag, count(*) as queries, sum(query_tags.weight) as weight
  from analysis.query_tags
  join analysis.observations using (query_id, run_date)
  group by query_tags.run_date, query_tags.tag
)
select
  there.run_date,
  there.tag,
  there.brand,
  there.ours,
  coalesce(held.clicks, 0) / nullif(asked.weight, 0) as share_of_voice,
  coalesce(held.clicks, 0) / nullif(asked.weight, 0)
    / nullif((select ctr from analysis.ctr where position = 1), 0) as visibility,
  asked.queries,
  coalesce(held.ranked, 0) as ranked,
  coalesce(held.top_3, 0) as top_3,
  coalesce(held.top_10, 0) as top_10,
  asked.weight
-- A brand has a row even where nothing of it ranks: a missing row would hide the worst day.
from (
  select distinct asked.run_date, asked.tag, brands.brand, brands.ours
  from asked
  join analysis.brands
    on (brands.since is null or brands.since <= asked.run_date)
    and (brands.until is null or brands.until >= asked.run_date)
) as there
join asked using (run_date, tag)
left join (
  select
    best.run_date, query_tags.tag, best.brand, best.ours,
    count(*) as ranked,
    count(*) filter (where best.position <= 3) as top_3,
    count(*) filter (where best.position <= 10) as top_10,
    sum(query_tags.weight * curve.ctr) as clicks
  from (
    select ranks.query_id, ranks.run_date, brands.brand, brands.ours, min(ranks.position) as position
    from analysis.ranks
    join analysis.brands
      on brands.domain = ranks.domain
      and (brands.since is null or brands.since <= ranks.run_date)
      and (brands.until is null or brands.until >= ranks.run_date)
    group by ranks.query_id, ranks.run_date, brands.brand, brands.ours
  ) as best
  join analysis.query_tags using (query_id, run_date)
  left join analysis.ctr as curve on curve.position = best.position
  group by best.run_date, query_tags.tag, best.brand, best.ours
) as held using (run_date, tag, brand, ours);
comment on view analysis.brand_share is 'Share of voice of each brand, ours and those of rivals: the best place of any of its domains counts once for each query, by the domains that belong to it on that day.';
comment on column analysis.brand_share.brand is 'Name of the brand.';
comment on column analysis.brand_share.ours is 'True for a brand of ours.';
comment on column analysis.brand_share.share_of_voice is 'Share of clicks, 0 to 1.';
comment on column analysis.brand_share.visibility is 'Share of voice as a part of what rank 1 everywhere would give: 1 is the first place for every query.';
comment on column analysis.brand_share.queries is 'Queries of the label with an observation that day.';
comment on column analysis.brand_share.ranked is 'Of these, queries that the brand ranks for, at any place.';
comment on column analysis.brand_share.top_3 is 'Queries with the brand at 1 to 3.';
comment on column analysis.brand_share.top_10 is 'Queries with the brand at 1 to 10.';
comment on column analysis.brand_share.weight is 'Sum of the weights of these queries.';
