-- Entities that appear in only one of two consecutive answers to a query.
create or replace view analysis.entity_changes as
select
  sides.query_id,
  queries.q,
  sides.run_date,
  entities.name,
  entities.type,
  case when sides.now then 'new' else 'gone' end as change,
  sides.previous_run_date,
  sides.fetched_at
from (
  select
    steps.query_id, steps.run_date, steps.search_id, search_entities.entity_id,
    bool_or(side.now) as now,
    bool_or(not side.now) as before,
    max(steps.previous_run_date) as previous_run_date,
    max(steps.fetched_at) as fetched_at
  from analysis.step_days as steps
  cross join lateral (values (steps.search_id, true), (steps.previous_search_id, false)) as side (search_id, now)
  cross join lateral (
    select *
    from search_entities
    where search_entities.search_id = side.search_id
    offset 0
  ) as search_entities
  where steps.previous_search_id is not null
  group by steps.query_id, steps.run_date, steps.search_id, search_entities.entity_id
) as sides
join entities on entities.id = sides.entity_id
left join queries on queries.id = sides.query_id
where sides.now <> sides.before;
comment on view analysis.entity_changes is 'Entities mentioned only in the newer (new) or only in the older (gone) of two consecutive answers to a query.';
comment on column analysis.entity_changes.name is 'Name of the entity.';
comment on column analysis.entity_changes.type is 'Type of the entity, as given by the API.';
comment on column analysis.entity_changes.change is 'Kind of change: new or gone.';
