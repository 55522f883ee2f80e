-- Sums for each domain, label and day, used to compute share of voice, buckets, averages and coverage.
create or replace view analysis.domain_days as
with asked as not materialized (
  select run_date, tag, queries, weight
  from analysis.label_days
  where queries > 0
)
select
  run_date,
  tag,
  held.domain,
  asked.queries,
  asked.weight,
  held.ranked,
  held.top_3,
  held.top_10,
  held.top_20,
  held.positions,
  held.clicks
from (
  -- Rows are grouped instead of joined, so that the planner can apply a filter on domains to these rows.
  select
    run_date,
    tag,
    domain,
    sum(ranked)::bigint as ranked,
    sum(top_3)::bigint as top_3,
    sum(top_10)::bigint as top_10,
    sum(top_20)::bigint as top_20,
    sum(positions) as positions,
    coalesce(sum(clicks), 0) as clicks
  from (
    select run_date, tag, domain, ranked, top_3, top_10, top_20, positions, clicks
    from analysis.label_shares
    union all
    -- Our own domains have a row even on days on which they do not rank.
    select asked.run_date, asked.tag, ours.domain, 0, 0, 0, 0, 0, null
    from asked
    cross join lateral analysis.ours_on(asked.run_date) as ours
  ) as counted
  group by run_date, tag, domain
) as held
join asked using (run_date, tag);
comment on view analysis.domain_days is 'Counts and sums for each domain, label and day, used to compute shares, averages and coverage. Our domains have a row for every day.';
comment on column analysis.domain_days.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.domain_days.weight is 'Sum of the weights of the queries with an observation.';
comment on column analysis.domain_days.ranked is 'Number of queries with the label for which the domain ranks, at any position.';
comment on column analysis.domain_days.top_3 is 'Number of queries for which the domain ranks in positions 1 to 3.';
comment on column analysis.domain_days.top_10 is 'Number of queries for which the domain ranks in positions 1 to 10.';
comment on column analysis.domain_days.top_20 is 'Number of queries for which the domain ranks in positions 1 to 20.';
comment on column analysis.domain_days.positions is 'Sum of the domain''s best positions, one for each query for which the domain ranks.';
comment on column analysis.domain_days.clicks is 'Sum of each query''s weight times the share of clicks at the domain''s best position.';
