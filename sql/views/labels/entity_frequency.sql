-- Number of queries whose answers mention each entity, by day.
create or replace view analysis.entity_frequency as
select
  observations.run_date,
  entities.name,
  entities.type,
  count(distinct observations.query_id) as queries,
  sum(query_days.weight) as weight
from analysis.observations
-- Reads each answer's entities separately. A single join would read all answers, even for a single day.
cross join lateral (
  select distinct search_entities.entity_id
  from search_entities
  where search_entities.search_id = observations.search_id
  offset 0
) as named
join entities on entities.id = named.entity_id
left join analysis.query_days using (run_date, query_id)
group by observations.run_date, entities.name, entities.type;
comment on view analysis.entity_frequency is 'Number of queries whose answers mention each entity, by day.';
comment on column analysis.entity_frequency.name is 'Name of the entity.';
comment on column analysis.entity_frequency.type is 'Type of the entity, as given by the API.';
comment on column analysis.entity_frequency.queries is 'Number of queries whose answer for the day mentions the entity.';
comment on column analysis.entity_frequency.weight is 'Sum of the weights of the queries whose answer mentions the entity.';
