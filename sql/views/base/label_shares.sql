-- Sums for each domain, label and day.
create or replace view analysis.label_shares as
select
  run_date,
  tag collate "C" as tag,
  domain,
  sum(ranked)::bigint as ranked,
  sum(top_3)::bigint as top_3,
  sum(top_10)::bigint as top_10,
  sum(top_20)::bigint as top_20,
  sum(positions) as positions,
  sum(clicks) as clicks
from analysis.set_shares
cross join unnest(array_remove(labels, '*') || '*'::text) as tag
group by run_date, tag collate "C", domain;
comment on view analysis.label_shares is 'Number of ranked queries, sum of positions and sum of clicks for each domain, label and day.';
comment on column analysis.label_shares.ranked is 'Number of queries for which the domain ranks, at any position.';
comment on column analysis.label_shares.top_3 is 'Number of queries for which the domain ranks in positions 1 to 3.';
comment on column analysis.label_shares.top_10 is 'Number of queries for which the domain ranks in positions 1 to 10.';
comment on column analysis.label_shares.top_20 is 'Number of queries for which the domain ranks in positions 1 to 20.';
comment on column analysis.label_shares.positions is 'Sum of the domain''s best positions, one for each query for which the domain ranks.';
comment on column analysis.label_shares.clicks is 'Sum of each query''s weight times the share of clicks at the domain''s best position; null if the click curve has no value for any of these positions.';
