-- Which domains stand in the first ten now, and stood in no answer before?
-- :day = newest (the later day; newest: the newest full one)
-- :days = 30 (how many days before it the other one is, where --since names none)
-- :rows = 20 (how many)
with known as materialized (
  select distinct result_domains.domain
  from analysis.known_on(analysis.since(:day::date, :days::integer)) as answers
  cross join lateral analysis.shown_in(answers.search_id) as result_domains
  where result_domains.domain is not null
)
select
  result_domains.domain,
  count(distinct pairs.query_id) as queries,
  min(result_domains.position) as best_position,
  min(queries.q) as example,
  min(pairs.previous_run_date) as since,
  max(pairs.run_date) as run_date
-- Only queries that both days know: of one that was asked for the first time, everybody would be new.
from analysis.pairs_between(analysis.since(:day::date, :days::integer), :day::date) as pairs
join queries on queries.id = pairs.query_id
cross join lateral analysis.shown_in(pairs.search_id) as result_domains
where result_domains.position <= 10
  and result_domains.domain not in (select domain from known)
  and result_domains.domain not in (select domain from own_domains)
group by result_domains.domain
order by queries desc, best_position, result_domains.domain
limit :rows::integer;
