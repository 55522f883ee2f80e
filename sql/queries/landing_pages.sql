-- Which pages of a domain bring it most clicks by estimate, for how many queries, and what are they worth?
-- :domain = (a domain; empty: ours)
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 20 (how many)
select
  analysis.page_name(url_key) as page,
  round(sum(estimated_clicks)::numeric, 1) as estimated_clicks,
  round(sum(estimated_value)::numeric, 2) as estimated_value,
  count(*) as queries,
  min(position) as best_position,
  (array_agg(q order by estimated_clicks desc, q))[1] as best_query
from analysis.estimated_traffic
where run_date = :day::date
  and case
    when :domain::text is null then domain in (
      select domain
      from analysis.ours_on(:day::date)
    )
    else domain = :domain
  end
group by domain, page
order by sum(estimated_clicks) desc, page
limit :rows::integer;
