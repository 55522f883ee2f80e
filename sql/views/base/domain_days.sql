-- What each domain holds of each label on each day: the sums behind share of voice, buckets, averages and coverage.
create or replace view analysis.domain_days as
with asked as not materialized (
  select query_tags.run_date, query_tags.tag, count(*) as queries, sum(query_tags.weight) as weight
  from analysis.query_tags
  join analysis.observations using (query_id, run_date)
  group by query_tags.run_date, query_tags.tag
)
select
  run_date,
  tag,
  domain,
  asked.queries,
  asked.weight,
  coalesce(held.ranked, 0) as ranked,
  coalesce(held.top_3, 0) as top_3,
  coalesce(held.top_10, 0) as top_10,
  coalesce(held.top_20, 0) as top_20,
  coalesce(held.positions, 0) as positions,
  coalesce(held.clicks, 0) as clicks
from (
  select
    run_date, tag collate "C" as tag, domain,
    sum(ranked)::bigint as ranked,
    sum(top_3)::bigint as top_3,
    sum(top_10)::bigint as top_10,
    sum(top_20)::bigint as top_20,
    sum(positions) as positions,
    sum(clicks) as clicks
  from (
    -- Queries with the same labels are added up together first: labels multiply far fewer rows then.
    select
      query_days.run_date, query_days.slices as tags, ranks.domain,
      count(*) as ranked,
      count(*) filter (where ranks.position <= 3) as top_3,
      count(*) filter (where ranks.position <= 10) as top_10,
      count(*) filter (where ranks.position <= 20) as top_20,
      sum(ranks.position::double precision) as positions,
      sum(query_days.weight * curve.ctr) as clicks
    from analysis.ranks
    join analysis.query_days using (query_id, run_date)
    left join analysis.ctr as curve on curve.position = ranks.position
    group by query_days.run_date, query_days.slices, ranks.domain
  ) as alike
  cross join unnest(array_remove(tags, '*') || '*'::text) as tag
  group by run_date, tag collate "C", domain
) as held
full join (
  -- Ours have a row even where nothing of theirs ranks: a missing row would hide the worst day.
  select distinct asked.run_date, asked.tag, own_domains.domain
  from asked
  join own_domains
    on (own_domains.since is null or own_domains.since <= asked.run_date)
    and (own_domains.until is null or own_domains.until >= asked.run_date)
) as ours using (run_date, tag, domain)
join asked using (run_date, tag);
comment on view analysis.domain_days is 'What each domain holds of each label on each day: counts and sums, to be divided by the reader. Our own domains have a row for every day.';
comment on column analysis.domain_days.queries is 'Queries of the label with an observation that day.';
comment on column analysis.domain_days.weight is 'Sum of their weights.';
comment on column analysis.domain_days.ranked is 'Of these, queries that the domain ranks for, at any place.';
comment on column analysis.domain_days.top_3 is 'Queries with the domain at 1 to 3.';
comment on column analysis.domain_days.top_10 is 'Queries with the domain at 1 to 10.';
comment on column analysis.domain_days.top_20 is 'Queries with the domain at 1 to 20.';
comment on column analysis.domain_days.positions is 'Sum of its best places, over the queries it ranks for.';
comment on column analysis.domain_days.clicks is 'Sum of weight times share of clicks at its best places.';
