-- Quarantines the answers in :kept. If :why is not null, quarantines all answers from run :run
-- except the answers in :released. Releases the run's other answers.
with held as (
  select distinct on (search_id) search_id, reason, score
  from (
    select *
    from unnest(
      :kept::bigint[], :reasons::text[], :scores::float8[]
    ) as one (search_id, reason, score)
    union all
    select searches.id, :why::text, null
    from tasks
    join searches on searches.task_id = tasks.id
    where :why::text is not null
      and tasks.run_id = :run
      and searches.id <> all (:released::bigint[])
  ) as found
  order by search_id, score nulls last
),
released as (
  delete from quarantine
  where run_id = :run
    and search_id not in (select search_id from held)
),
put as (
  insert into quarantine (search_id, run_id, reason, score)
  select search_id, :run, reason, score
  from held
  on conflict (search_id) do update set reason = excluded.reason, score = excluded.score
  where quarantine.reason <> excluded.reason
)
select count(*) as quarantined
from held
