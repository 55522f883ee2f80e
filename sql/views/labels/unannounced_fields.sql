-- Fields of answers that the interface does not name, and when they came.
create or replace view analysis.unannounced_fields as
select
  fields.place,
  fields.field,
  searches.api,
  min(searches.fetched_at) as first_seen,
  max(searches.fetched_at) as last_seen,
  count(*) as answers
from (
  select id as search_id, 'answer' as place, field
  from searches
  cross join jsonb_object_keys(extra) as field
  where extra is not null
  union all
  -- An answer counts once for a field, however many of its results carry it.
  select distinct search_id, 'result', field
  from organic_results
  cross join jsonb_object_keys(extra) as field
  where extra is not null
) as fields
join searches on searches.id = fields.search_id
where searches.parse_error is null
  and searches.origin = any ((select analysis.origins())::text[])
  and case when searches.archived then (searches.id in (select search_id from public.loaded_answers))::integer else 1 end <> 0
group by fields.place, fields.field, searches.api;
comment on view analysis.unannounced_fields is 'Fields that answers carry and that the interface does not name, with when they were first and last seen: what an API began to say, or ceased to.';
comment on column analysis.unannounced_fields.place is 'answer, or result: where the field stands.';
comment on column analysis.unannounced_fields.field is 'Its name.';
comment on column analysis.unannounced_fields.api is 'Where the answers were bought.';
comment on column analysis.unannounced_fields.first_seen is 'When the first answer with it was received.';
comment on column analysis.unannounced_fields.last_seen is 'When the last one was.';
comment on column analysis.unannounced_fields.answers is 'Readable answers with it.';
