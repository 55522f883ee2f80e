-- Share of a label's clicks that each domain gets, based on its best position for each query.
create or replace view analysis.share_of_voice as
select
  run_date,
  tag,
  domain,
  clicks / nullif(weight, 0) as share_of_voice,
  clicks / nullif(weight, 0) / nullif((select ctr from analysis.ctr where position = 1), 0) as visibility,
  queries,
  ranked,
  weight
from analysis.domain_days;
comment on view analysis.share_of_voice is 'Share of voice of each domain: the sum of each query''s share of clicks times its weight, divided by the sum of the weights. A domain is counted once for each query, with its best position. Queries for which the domain does not rank count as zero.';
comment on column analysis.share_of_voice.share_of_voice is 'Share of clicks, from 0 to 1.';
comment on column analysis.share_of_voice.visibility is 'Share of voice, divided by the share of voice that would result from position 1 for every query. A value of 1 corresponds to position 1 for every query.';
comment on column analysis.share_of_voice.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.share_of_voice.ranked is 'Number of queries with the label for which the domain ranks.';
comment on column analysis.share_of_voice.weight is 'Sum of the weights of the queries with an observation.';
