-- Which entities are mentioned most often in a day's answers?
-- :day = newest (run date; newest: the newest full day)
-- :top = 30 (number of rows)
select name, type, queries, weight
from analysis.entity_frequency
where run_date = :day::date
order by queries desc, name
limit :top::integer;

-- show changes: Which entities appeared or disappeared on a day?
-- :day = newest (run date; newest: the newest full day)
select name, type, change, count(*) as queries, min(q) as example
from analysis.entity_changes
where run_date = :day::date
group by name, type, change
order by queries desc, name, change;

-- show pairs: Which entities appear together more often than expected by chance?
-- :top = 30 (number of rows)
select name, other_name, together, queries, other_queries, round(npmi::numeric, 3) as npmi
from analysis.entity_pairs
order by npmi desc, together desc, name, other_name
limit :top::integer;

-- show beside: Which entities are mentioned in answers that show a domain in the top 10?
-- :domain = (a domain; empty: our domains)
-- :day = newest (run date; newest: the newest full day)
-- :top = 30 (number of rows)
select
  entities.name, entities.type, count(*) as queries, min(ranks.position) as best_position,
  (array_agg(ranks.q order by ranks.position, ranks.q))[1] as example
from (
  select
    observations.query_id, min(observations.q) as q, min(held.place >> 20) as position,
    min(observations.search_id) as search_id
  from analysis.observations
  cross join lateral analysis.domains_in(observations.search_id) as held
  where observations.run_date = :day::date
    and held.place >> 20 <= 10
    and held.domain = any (array(select domain from own_domains union all select :domain::text))
    and case
      when :domain::text is null then held.domain in (
        select domain
        from analysis.ours_on(:day::date)
      )
      else held.domain = :domain
    end
  group by observations.query_id
) as ranks
cross join lateral (
  select distinct search_entities.entity_id
  from search_entities
  where search_entities.search_id = ranks.search_id
  offset 0
) as named
join entities on entities.id = named.entity_id
group by entities.id, entities.name, entities.type
order by queries desc, best_position, entities.name
limit :top::integer;
