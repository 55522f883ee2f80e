-- How many queries each domain ranks for, by place.
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
comment on view analysis.position_buckets is 'How many queries each domain ranks for, by best place, each day. The five buckets add up to the queries.';
comment on column analysis.position_buckets.queries is 'Queries of the label with an observation that day.';
comment on column analysis.position_buckets.from_1_to_3 is 'At 1 to 3.';
comment on column analysis.position_buckets.from_4_to_10 is 'At 4 to 10.';
comment on column analysis.position_buckets.from_11_to_20 is 'At 11 to 20.';
comment on column analysis.position_buckets.from_21 is 'At 21 or lower down, as deep as the answers go.';
comment on column analysis.position_buckets.not_ranked is 'Not in the answer, however deep it was.';
