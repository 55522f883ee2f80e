-- Which pages of a domain gained and lost most between two days?
-- :domain = (a domain; empty: ours)
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
-- :rows = 20 (how many)
select
  changes.page,
  round((sum(clicks_now) - sum(clicks_before))::numeric, 3) as gain,
  round(sum(clicks_before)::numeric, 3) as clicks_before,
  round(sum(clicks_now)::numeric, 3) as clicks_now,
  count(*) filter (where clicks_now > clicks_before) as queries_up,
  count(*) filter (where clicks_now < clicks_before) as queries_down,
  count(*) as queries
from analysis.page_changes(analysis.since(:day::date, :days::integer), :day::date) as changes
-- As a list that is known before: so it goes down to the rows of these domains.
where changes.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then changes.domain in (
      select domain
      from analysis.ours_on(:day::date)
    )
    else changes.domain = :domain
  end
group by changes.page
having sum(clicks_now) <> sum(clicks_before)
order by abs(sum(clicks_now) - sum(clicks_before)) desc, changes.page
limit :rows::integer;
