-- What each domain held of each label on each day, from the answers themselves.
create or replace view analysis.live_shares as
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
    query_days.run_date, query_days.slices as tags, best.domain,
    count(*) as ranked,
    count(*) filter (where best.position <= 3) as top_3,
    count(*) filter (where best.position <= 10) as top_10,
    count(*) filter (where best.position <= 20) as top_20,
    sum(best.position::double precision) as positions,
    sum(query_days.weight * curve.ctr) as clicks
  from (
    select observations.query_id, observations.run_date, result_domains.domain, min(result_domains.place) >> 20 as position
    from analysis.observations
    join public.result_domains on result_domains.search_id = observations.search_id
    where result_domains.place is not null
      and result_domains.domain is not null
    group by observations.query_id, observations.run_date, result_domains.domain
  ) as best
  join analysis.query_days using (query_id, run_date)
  left join analysis.ctr as curve on curve.position = best.position
  group by query_days.run_date, query_days.slices, best.domain
) as alike
cross join unnest(array_remove(tags, '*') || '*'::text) as tag
group by run_date, tag collate "C", domain;
comment on view analysis.live_shares is 'What each domain held of each label on each day, worked out from the answers: analysis.label_shares says the same, and reads what is kept of finished days.';
comment on column analysis.live_shares.ranked is 'Queries that the domain ranks for, at any place.';
comment on column analysis.live_shares.top_3 is 'Queries with the domain at 1 to 3.';
comment on column analysis.live_shares.top_10 is 'Queries with the domain at 1 to 10.';
comment on column analysis.live_shares.top_20 is 'Queries with the domain at 1 to 20.';
comment on column analysis.live_shares.positions is 'Sum of its best places, over the queries it ranks for.';
comment on column analysis.live_shares.clicks is 'Sum of weight times share of clicks at its best places.';
