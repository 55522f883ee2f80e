-- Reads the domains by their share on the last answered day of a span, compared with the first; own domains first.
-- Parameters: :since, :until (date), :word (part of the domain, or null).
with span as materialized (
  select max(run_date) as until, min(run_date) as since
  from analysis.label_days
  where tag = '*'
    and queries > 0
    and run_date between :since::date and :until::date
),
held as (
  select
    domain,
    sum(clicks / nullif(weight, 0)) filter (where run_date = (select until from span)) as share,
    sum(clicks / nullif(weight, 0)) filter (where run_date = (select since from span)) as previous,
    sum(ranked) filter (where run_date = (select until from span)) as ranked,
    sum(top_3) filter (where run_date = (select until from span)) as top_3
  from analysis.domain_days
  where tag = '*'
    and run_date in ((select until from span), (select since from span))
    and (:word::text is null or strpos(domain, lower(:word::text)) > 0)
  group by domain
)
select
  domain, domain in (select ours.domain from span, analysis.ours_on(span.until) as ours) as ours,
  coalesce(share, 0) as share, coalesce(previous, 0) as "previousShare", coalesce(ranked, 0)::bigint as ranked,
  coalesce(top_3, 0)::bigint as top3
from held
order by ours desc, 3 desc, domain
limit 100;
