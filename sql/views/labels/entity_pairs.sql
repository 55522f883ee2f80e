-- Pairs of entities that the newest answers mention together more often than expected by chance.
create or replace view analysis.entity_pairs as
with named as materialized (
  select distinct latest.query_id, search_entities.entity_id
  from analysis.latest
  join search_entities on search_entities.search_id = latest.search_id
),
frequency as materialized (
  select entity_id, count(*) as queries
  from named
  group by entity_id
),
-- An entity that occurs in fewer than three answers cannot share three answers with another entity.
frequent as materialized (
  select named.query_id, named.entity_id
  from named
  join frequency using (entity_id)
  where frequency.queries >= 3
),
pairs as (
  select one.entity_id, other.entity_id as other_entity_id, count(*) as together
  from frequent as one
  join frequent as other on other.query_id = one.query_id and other.entity_id > one.entity_id
  group by one.entity_id, other.entity_id
  having count(*) >= 3
)
select
  entities.name,
  entities.type,
  other_entities.name as other_name,
  other_entities.type as other_type,
  pairs.together,
  mine.queries,
  others.queries as other_queries,
  everything.answers,
  case
    -- If every answer mentions both entities, the value is the maximum.
    when pairs.together = everything.answers then 1
    else
      ln(pairs.together::double precision * everything.answers / (mine.queries::double precision * others.queries))
      / -ln(pairs.together::double precision / everything.answers)
  end as npmi
from pairs
join frequency as mine on mine.entity_id = pairs.entity_id
join frequency as others on others.entity_id = pairs.other_entity_id
join entities on entities.id = pairs.entity_id
join entities as other_entities on other_entities.id = pairs.other_entity_id
cross join (select count(*) as answers from analysis.latest) as everything;
comment on view analysis.entity_pairs is 'Pairs of entities that are mentioned together in at least three of the newest answers.';
comment on column analysis.entity_pairs.name is 'Name of the first entity.';
comment on column analysis.entity_pairs.type is 'Type of the first entity.';
comment on column analysis.entity_pairs.other_name is 'Name of the second entity.';
comment on column analysis.entity_pairs.other_type is 'Type of the second entity.';
comment on column analysis.entity_pairs.together is 'Number of answers that mention both entities.';
comment on column analysis.entity_pairs.queries is 'Number of answers that mention the first entity.';
comment on column analysis.entity_pairs.other_queries is 'Number of answers that mention the second entity.';
comment on column analysis.entity_pairs.answers is 'Number of answers considered. Only the newest answer to each query counts.';
comment on column analysis.entity_pairs.npmi is 'Normalised pointwise mutual information: 1 if the two entities always appear together, 0 if they appear together as often as expected by chance, below 0 if less often.';
