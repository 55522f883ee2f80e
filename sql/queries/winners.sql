-- Which domains won and lost most between two days?
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
-- :rows = 20 (how many)
with known as (
  select distinct domain
  from analysis.known_on(analysis.since(:day::date, :days::integer)) as answers
  join public.result_domains on result_domains.search_id = answers.search_id
)
select
  moves.domain,
  round(sum(weight * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)))::numeric, 3) as gain,
  count(*) filter (where moves.change in ('up', 'entered')) as queries_up,
  count(*) filter (where moves.change in ('down', 'left')) as queries_down,
  count(moves.position) as ranked,
  moves.domain not in (select domain from known where domain is not null) as new
from analysis.movers_between(analysis.since(:day::date, :days::integer), :day::date) as moves
join analysis.latest_weights as weights using (query_id)
left join analysis.ctr as now on now.position = moves.position
left join analysis.ctr as before on before.position = moves.previous_position
group by moves.domain
having sum(weight * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0))) <> 0
order by abs(sum(weight * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)))) desc, moves.domain
limit :rows::integer;
