-- Which pages of a domain lost most between two days, and who took most of it?
-- :domain = (a domain; empty: ours)
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
-- :rows = 20 (how many)
with losses as materialized (
  select changes.query_id, changes.q, changes.domain, changes.page, changes.clicks_before - changes.clicks_now as lost
  from analysis.page_changes(analysis.since(:day::date, :days::integer), :day::date) as changes
  where changes.clicks_now < changes.clicks_before
    -- As a list that is known before: so it goes down to the rows of these domains.
    and changes.domain = any (array(select domain from own_domains union all select :domain::text))
    and case
      when :domain::text is null then changes.domain in (
        select domain
        from analysis.ours_on(:day::date)
      )
      else changes.domain = :domain
    end
),
-- Once: beside each loss they would be worked out anew.
flows as materialized (
  select found.query_id, found.loser, found.taker, found.clicks
  from analysis.flows_between(analysis.since(:day::date, :days::integer), :day::date) as found
  where found.taker is not null
    and found.loser = any (array(select domain from own_domains union all select :domain::text))
),
takers as (
  -- The domain's loss for a query, as analysis.flows_between divides it, for each of its pages that lost there.
  select losses.domain, losses.page, flows.taker, sum(flows.clicks) as clicks
  from losses
  join flows on flows.query_id = losses.query_id and flows.loser = losses.domain
  group by losses.domain, losses.page, flows.taker
)
select
  losses.page,
  round(sum(losses.lost)::numeric, 3) as lost,
  count(*) as queries,
  (array_agg(losses.q order by losses.lost desc, losses.q))[1] as example,
  (
    select takers.taker
    from takers
    where takers.domain = losses.domain
      and takers.page = losses.page
    order by takers.clicks desc, takers.taker
    limit 1
  ) as taken_by
from losses
group by losses.domain, losses.page
order by sum(losses.lost) desc, losses.page
limit :rows::integer;
