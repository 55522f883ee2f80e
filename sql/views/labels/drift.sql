-- Fields of answers that the interface does not name, and when they came.
create or replace view analysis.drift as
select
  fields.place,
  fields.field,
  searches.api,
  min(searches.fetched_at) as first_seen,
  max(searches.fetched_at) as last_seen,
  count(*) as answers
from searches
cross join lateral (
  select 'answer' as place, field
  from jsonb_object_keys(searches.extra) as field
  union
  select 'result', field
  from organic_results
  cross join jsonb_object_keys(organic_results.extra) as field
  where organic_results.search_id = searches.id
) as fields
where searches.parse_error is null
  and searches.origin = any ((select analysis.origins())::text[])
group by fields.place, fields.field, searches.api;
comment on view analysis.drift is 'Fields that answers carry and that the interface does not name, with when they were first and last seen: what an API began to say, or ceased to.';
comment on column analysis.drift.place is 'answer, or result: where the field stands.';
comment on column analysis.drift.field is 'Its name.';
comment on column analysis.drift.api is 'Where the answers were bought.';
comment on column analysis.drift.first_seen is 'When the first answer with it was received.';
comment on column analysis.drift.last_seen is 'When the last one was.';
comment on column analysis.drift.answers is 'Readable answers with it.';
