-- Concentration of each label's clicks on a few domains.
create or replace view analysis.concentration as
select
  run_date,
  tag,
  count(*) filter (where clicks > 0) as domains,
  sum(power(clicks / total, 2)) as hhi
from (
  select run_date, tag, domain, clicks, nullif(sum(clicks) over (partition by run_date, tag), 0) as total
  from analysis.domain_days
) as shares
group by run_date, tag;
comment on view analysis.concentration is 'Concentration of each label''s clicks on a few domains, by day.';
comment on column analysis.concentration.domains is 'Number of domains with clicks.';
comment on column analysis.concentration.hhi is 'Herfindahl-Hirschman index: the sum of the squared shares of clicks; 1 if one domain has all clicks.';
