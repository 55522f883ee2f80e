-- Reads the ranked queries and shares of the given domains, day by day. Parameters: :domains (text[]), :tag (the label
-- of the queries, * for all), :since, :until (date).
select
  shown.domain,
  days.run_date as "runDate", days.queries, coalesce(held.ranked, 0) as ranked, coalesce(held.top_3, 0) as top3,
  coalesce(held.top_10, 0) as top10, coalesce(held.top_20, 0) as top20,
  coalesce(held.clicks, 0) / nullif(days.weight, 0) as share,
  days.queries * 2 < max(days.queries) over () as thin
from analysis.label_days as days
cross join unnest(:domains::text[]) with ordinality as shown (domain, place)
left join (
  select *
  from analysis.label_shares
  where tag = :tag
    and domain = any (:domains::text[])
    and run_date between :since::date and :until::date
) as held on held.run_date = days.run_date
  and held.domain = shown.domain
where days.tag = :tag
  and days.queries > 0
  and days.run_date between :since::date and :until::date
order by shown.place, days.run_date;
