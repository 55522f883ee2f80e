-- Reads each domain's share on the first and last days with answers in a period. Our own domains come first, then the
-- largest last shares. Parameters: :since, :until (date), :word (part of the domain, or null).
with span as materialized (
  select max(run_date) as until, min(run_date) as since
  from analysis.label_days
  where tag = '*'
    and queries > 0
    and run_date between :since::date and :until::date
),
held as (
  select
    shown.domain,
    sum(shown.clicks / nullif(shown.weight, 0)) filter (where shown.run_date = span.until) as share,
    sum(shown.clicks / nullif(shown.weight, 0)) filter (where shown.run_date = span.since) as previous,
    sum(shown.ranked) filter (where shown.run_date = span.until) as ranked,
    sum(shown.top_3) filter (where shown.run_date = span.until) as top_3
  from span
  cross join lateral (select distinct unnest(array[span.since, span.until]) as day) as days
  -- Reads the rows day by day. With a list of days, the view would read the labels of all days.
  cross join lateral (
    select *
    from analysis.domain_days
    where domain_days.run_date = days.day
      and tag = '*'
      and (:word::text is null or strpos(domain, lower(:word::text)) > 0)
    offset 0
  ) as shown
  group by shown.domain
)
select
  domain, domain in (select ours.domain from span, analysis.ours_on(span.until) as ours) as ours,
  coalesce(share, 0) as share, coalesce(previous, 0) as "previousShare", coalesce(ranked, 0)::bigint as ranked,
  coalesce(top_3, 0)::bigint as top3
from held
order by ours desc, 3 desc, domain
limit 100;
