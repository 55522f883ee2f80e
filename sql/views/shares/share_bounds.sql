-- Lowest and highest possible share of voice, given the queries that were not answered.
create or replace view analysis.share_bounds as
select
  domain_days.run_date,
  domain_days.tag,
  domain_days.domain,
  domain_days.clicks / nullif(domain_days.weight, 0) as share_of_voice,
  domain_days.clicks / nullif(planned.weight, 0) as low,
  (domain_days.clicks + (planned.weight - domain_days.weight) * best.ctr) / nullif(planned.weight, 0) as high,
  domain_days.queries,
  planned.queries - domain_days.queries as unanswered,
  domain_days.weight,
  planned.weight - domain_days.weight as unanswered_weight
from analysis.domain_days
join (
  select run_date, tag, planned as queries, planned_weight as weight
  from analysis.label_days
) as planned using (run_date, tag)
cross join (select coalesce(max(ctr), 0) as ctr from analysis.ctr) as best;
comment on view analysis.share_bounds is 'Share of voice with its lowest and highest possible values, given the queries that were planned but not answered. The low value assumes that the domain did not rank for any of these queries. The high value assumes that the domain had the best position for all of these queries.';
comment on column analysis.share_bounds.share_of_voice is 'Share of clicks across the answered queries, from 0 to 1, as in analysis.share_of_voice.';
comment on column analysis.share_bounds.low is 'Share of clicks across all planned queries if the domain did not rank for any of the unanswered queries.';
comment on column analysis.share_bounds.high is 'Share of clicks across all planned queries if the domain had the best position for all unanswered queries.';
comment on column analysis.share_bounds.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.share_bounds.unanswered is 'Number of planned queries that have the label but no observation.';
comment on column analysis.share_bounds.weight is 'Sum of the weights of the answered queries.';
comment on column analysis.share_bounds.unanswered_weight is 'Sum of the weights of the unanswered queries.';
