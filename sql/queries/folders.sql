-- Which folders of a domain gained and lost most between two days?
-- :domain = (a domain; empty: ours)
-- :depth = 1 (how many parts of the path make a folder)
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
-- :rows = 20 (how many)
select
  array_to_string((string_to_array(changes.page, '/'))[1:1 + :depth::integer], '/') as folder,
  round((sum(clicks_now) - sum(clicks_before))::numeric, 3) as gain,
  round(sum(clicks_before)::numeric, 3) as clicks_before,
  round(sum(clicks_now)::numeric, 3) as clicks_now,
  count(distinct changes.page) as pages,
  count(distinct changes.query_id) as queries
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
group by folder
order by abs(sum(clicks_now) - sum(clicks_before)) desc, folder
limit :rows::integer;
