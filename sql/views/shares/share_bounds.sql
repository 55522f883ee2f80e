-- Between which ends the share of voice lies, whatever the queries would have said that were not answered.
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
comment on view analysis.share_bounds is 'Share of voice with the ends between which it lies for certain, whatever queries say that were asked and not answered: low if the domain ranked for none of them, high if it had the best place for all.';
comment on column analysis.share_bounds.share_of_voice is 'Share of clicks over the queries that were answered, 0 to 1: as analysis.share_of_voice has it.';
comment on column analysis.share_bounds.low is 'Share over all queries that were to be asked, if the domain ranked for none of those without an answer.';
comment on column analysis.share_bounds.high is 'The same, if it had the best place for all of them.';
comment on column analysis.share_bounds.queries is 'Queries of the label with an observation that day.';
comment on column analysis.share_bounds.unanswered is 'Queries of the label that were to be asked and have none.';
comment on column analysis.share_bounds.weight is 'Sum of the weights of the answered queries.';
comment on column analysis.share_bounds.unanswered_weight is 'Sum of the weights of the others.';
