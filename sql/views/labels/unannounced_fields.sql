-- Fields in answers that the API specification does not define, with the times at which the fields were first and last
-- seen.
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
  -- An answer is counted once for each field, even if several of its results have that field.
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
comment on view analysis.unannounced_fields is 'Fields in answers that the API specification does not define, with the times at which the fields were first and last seen. The times show which fields an API added or removed.';
comment on column analysis.unannounced_fields.place is 'Location of the field: answer or result.';
comment on column analysis.unannounced_fields.field is 'Name of the field.';
comment on column analysis.unannounced_fields.api is 'API from which the answers were bought.';
comment on column analysis.unannounced_fields.first_seen is 'Time at which the first answer with the field was received.';
comment on column analysis.unannounced_fields.last_seen is 'Time at which the last answer with the field was received.';
comment on column analysis.unannounced_fields.answers is 'Number of readable answers with the field.';
