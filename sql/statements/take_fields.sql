-- Records the undocumented fields in the answers bought by run :run (bigint). Returns the fields that did not occur in
-- any earlier answer from the same API. Answers from open runs, or from runs read together with this run (:together,
-- bigint[]), do not count as earlier answers.
with answers as materialized (
  select searches.id, searches.api, searches.extra
  from tasks
  join searches on searches.task_id = tasks.id
  where tasks.run_id = :run::bigint
    and searches.parse_error is null
),
fields as (
  select answers.id, answers.api, 'answer' as place, field
  from answers
  cross join lateral jsonb_object_keys(
    case when jsonb_typeof(answers.extra) = 'object' then answers.extra else '{}' end
  ) as field
  union
  select answers.id, answers.api, 'result', field
  from answers
  join organic_results on organic_results.search_id = answers.id
  cross join lateral jsonb_object_keys(
    case when jsonb_typeof(organic_results.extra) = 'object' then organic_results.extra else '{}' end
  ) as field
),
counted as (
  select api, place, field, count(*) as answers, min(id) as first
  from fields
  group by api, place, field
),
fresh as (
  insert into answer_fields (api, place, field, run_id)
  select api, place, field, :run::bigint
  from counted
  order by api, place, field
  on conflict do nothing
  returning api, place, field
)
select
  runs.id as run, lists.name as list, runs.run_date, counted.api,
  jsonb_agg(
    jsonb_build_object('place', counted.place, 'field', counted.field, 'answers', counted.answers)
    order by counted.place, counted.field
  ) as found
from counted
join fresh using (api, place, field)
join runs on runs.id = :run::bigint
join lists on lists.id = runs.list_id
-- Fields that occur in older answers are not new, even if those fields were never recorded.
where not exists (
    select
    from searches as earlier
    where earlier.api = counted.api
      and earlier.id < counted.first
      and not exists (
        select
        from tasks
        join runs as unread on unread.id = tasks.run_id
        where tasks.id = earlier.task_id
          and (unread.id = any(:together::bigint[]) or unread.state = 'open' and unread.opened_at is null)
      )
      and case counted.place
        when 'answer' then earlier.extra ? counted.field
        else exists (
          select
          from organic_results
          where organic_results.search_id = earlier.id
            and organic_results.extra ? counted.field
        )
      end
  )
  and exists (
    select
    from searches as earlier
    where earlier.api = counted.api
      and earlier.id < (select min(id) from answers)
  )
group by runs.id, lists.name, runs.run_date, counted.api
order by counted.api
