-- Which share of the clicks of a label each domain gets, by its best place for each query.
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
comment on view analysis.share_of_voice is 'Share of voice: the sum of share of clicks times weight, divided by the sum of weights. The best place of a domain counts once for each query; queries that it does not rank for count as none.';
comment on column analysis.share_of_voice.share_of_voice is 'Share of clicks, 0 to 1.';
comment on column analysis.share_of_voice.visibility is 'Share of voice as a part of what rank 1 everywhere would give: 1 is the first place for every query.';
comment on column analysis.share_of_voice.queries is 'Queries of the label with an observation that day.';
comment on column analysis.share_of_voice.ranked is 'Of these, queries that the domain ranks for.';
comment on column analysis.share_of_voice.weight is 'Sum of the weights of these queries.';
