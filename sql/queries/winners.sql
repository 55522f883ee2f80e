-- Which domains won and lost most between two days?
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
-- :rows = 20 (how many)
with known as (
  select distinct domain
  from analysis.known_on(analysis.since(:day::date, :days::integer)) as answers
  cross join lateral analysis.shown_in(answers.search_id) as result_domains
),
-- A query that nobody asked before is nobody's gain: such queries are counted apart.
asked_since as (
  select result_domains.domain, count(distinct answers.query_id) as queries
  from analysis.known_on(:day::date) as answers
  cross join lateral (
    -- By the keys of runs and tasks, until one is found: nearly every query was asked before.
    select count(*) as runs
    from (
      select
      from runs
      cross join lateral (
        select
        from tasks
        where tasks.run_id = runs.id
          and tasks.query_id = answers.query_id
        offset 0
      ) as asked
      where runs.run_date <= analysis.since(:day::date, :days::integer)
      limit 1
    ) as first
  ) as earlier
  cross join lateral analysis.shown_in(answers.search_id) as result_domains
  where result_domains.position is not null
    and earlier.runs = 0
  group by result_domains.domain
)
select
  moves.domain,
  round(sum(weight * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)))::numeric, 3) as gain,
  count(*) filter (where moves.change in ('up', 'entered')) as queries_up,
  count(*) filter (where moves.change in ('down', 'left')) as queries_down,
  count(moves.position) as ranked,
  moves.domain not in (select domain from known where domain is not null) as new,
  coalesce(max(asked_since.queries), 0) as newly_asked
from analysis.movers_between(analysis.since(:day::date, :days::integer), :day::date) as moves
join analysis.latest_weights as weights using (query_id)
left join analysis.ctr as now on now.position = moves.position
left join analysis.ctr as before on before.position = moves.previous_position
left join asked_since on asked_since.domain = moves.domain
group by moves.domain
having sum(weight * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0))) <> 0
order by abs(sum(weight * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)))) desc, moves.domain
limit :rows::integer;
