-- Who took the clicks that a domain lost between two days?
-- :domain = (a domain; empty: ours)
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
select
  flows.loser, flows.taker, round(sum(flows.clicks)::numeric, 3) as clicks,
  count(*) as queries, min(flows.q) as example
from analysis.flows_between(analysis.since(:day::date, :days::integer), :day::date) as flows
where case
    when :domain::text is null then flows.loser in (
      select domain
      from analysis.ours_on(:day::date)
    )
    else flows.loser = :domain
  end
group by flows.loser, flows.taker
order by sum(flows.clicks) desc, flows.loser, flows.taker;
