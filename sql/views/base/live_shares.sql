-- Sums for each domain, set of labels and day, computed from the answers.
create or replace view analysis.live_shares as
select
  run_date, analysis.set_id(labels) as set_id, labels, domain, ranked, top_3, top_10, top_20, positions, clicks
from (
  select
    query_days.run_date, query_days.slices collate "C" as labels, best.domain,
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
  group by query_days.run_date, query_days.slices collate "C", best.domain
) as sets;
comment on view analysis.live_shares is 'Number of ranked queries, sum of positions and sum of clicks for each domain, set of labels and day, computed from the answers. analysis.set_shares returns the same rows, but reads stored sums for finished days.';
comment on column analysis.live_shares.set_id is 'Id of the label set, as computed by analysis.set_id.';
comment on column analysis.live_shares.labels is 'Labels in the set.';
comment on column analysis.live_shares.ranked is 'Number of queries for which the domain ranks, at any position.';
comment on column analysis.live_shares.top_3 is 'Number of queries for which the domain ranks in positions 1 to 3.';
comment on column analysis.live_shares.top_10 is 'Number of queries for which the domain ranks in positions 1 to 10.';
comment on column analysis.live_shares.top_20 is 'Number of queries for which the domain ranks in positions 1 to 20.';
comment on column analysis.live_shares.positions is 'Sum of the domain''s best positions, one for each query for which the domain ranks.';
comment on column analysis.live_shares.clicks is 'Sum of each query''s weight times the share of clicks at the domain''s best position.';
