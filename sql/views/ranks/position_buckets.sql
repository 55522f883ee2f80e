-- Number of queries for which each domain ranks, by position.
create or replace view analysis.position_buckets as
select
  run_date,
  tag,
  domain,
  queries,
  top_3 as from_1_to_3,
  top_10 - top_3 as from_4_to_10,
  top_20 - top_10 as from_11_to_20,
  ranked - top_20 as from_21,
  queries - ranked as not_ranked
from analysis.domain_days;
comment on view analysis.position_buckets is 'Number of queries for which each domain ranks on each day, by best position. The five buckets add up to the queries column.';
comment on column analysis.position_buckets.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.position_buckets.from_1_to_3 is 'Number of queries with the domain in positions 1 to 3.';
comment on column analysis.position_buckets.from_4_to_10 is 'Number of queries with the domain in positions 4 to 10.';
comment on column analysis.position_buckets.from_11_to_20 is 'Number of queries with the domain in positions 11 to 20.';
comment on column analysis.position_buckets.from_21 is 'Number of queries with the domain at position 21 or beyond, within the answer''s depth.';
comment on column analysis.position_buckets.not_ranked is 'Number of queries for which the answer does not show the domain, regardless of the answer''s depth.';
