-- How many queries name each entity, each day.
create or replace view analysis.entity_frequency as
select
  observations.run_date,
  entities.name,
  entities.type,
  count(distinct observations.query_id) as queries,
  sum(query_days.weight) as weight
from analysis.observations
join (
  select distinct search_id, entity_id
  from search_entities
) as named on named.search_id = observations.search_id
join entities on entities.id = named.entity_id
left join analysis.query_days using (run_date, query_id)
group by observations.run_date, entities.name, entities.type;
comment on view analysis.entity_frequency is 'How many queries have answers that name each entity, each day.';
comment on column analysis.entity_frequency.name is 'Name of the entity.';
comment on column analysis.entity_frequency.type is 'Type that the API gives it.';
comment on column analysis.entity_frequency.queries is 'Queries whose answer of that day names it.';
comment on column analysis.entity_frequency.weight is 'Sum of their weights.';
