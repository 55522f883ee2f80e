-- For each kind of SERP feature, the share of queries with this feature, with and without our domains.
create or replace view analysis.feature_days as
with asked as not materialized (
  select query_tags.run_date, query_tags.tag, count(*) as queries
  from analysis.query_tags
  join analysis.observations using (query_id, run_date)
  group by query_tags.run_date, query_tags.tag
)
select
  shown.run_date,
  shown.tag,
  shown.kind,
  asked.queries,
  shown.shown,
  shown.shown::double precision / asked.queries as share,
  shown.ours,
  shown.things
from (
  select
    kinds.run_date, query_tags.tag, kinds.kind,
    count(*) as shown, count(*) filter (where kinds.ours) as ours, sum(kinds.things)::bigint as things
  from (
    select query_id, run_date, kind, bool_or(ours) as ours, count(*) as things
    from analysis.features
    group by query_id, run_date, kind
  ) as kinds
  join analysis.query_tags using (query_id, run_date)
  group by kinds.run_date, query_tags.tag, kinds.kind
) as shown
join asked using (run_date, tag);
comment on view analysis.feature_days is 'Number of queries with each label whose answers show each kind of SERP feature on each day. The ours column counts the queries with one of our domains in the SERP feature. A day has no row for a kind of SERP feature that no answer shows.';
comment on column analysis.feature_days.kind is 'Kind of SERP feature, as named in the answer.';
comment on column analysis.feature_days.queries is 'Number of queries with the label that have a readable answer.';
comment on column analysis.feature_days.shown is 'Number of queries whose answer shows the SERP feature.';
comment on column analysis.feature_days.share is 'Fraction of queries whose answer shows the SERP feature, from 0 to 1.';
comment on column analysis.feature_days.ours is 'Number of queries with one of our domains in the SERP feature.';
comment on column analysis.feature_days.things is 'Number of items in all SERP features of this kind.';
