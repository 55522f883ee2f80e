-- Which share of the queries shows each kind of block, and in which of them we are.
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
comment on view analysis.feature_days is 'How many queries of a label show each kind of block on each day, and in how many of these we are. A kind that no answer of a day shows has no row.';
comment on column analysis.feature_days.kind is 'Name of the block.';
comment on column analysis.feature_days.queries is 'Queries of the label with a readable answer.';
comment on column analysis.feature_days.shown is 'Of these, queries whose answer shows such a block.';
comment on column analysis.feature_days.share is 'Shown divided by queries, 0 to 1.';
comment on column analysis.feature_days.ours is 'Queries in whose block a domain of ours is.';
comment on column analysis.feature_days.things is 'Things in these blocks.';
