-- Replaces the decisions about the queries in a list. Parameters: :decisions (jsonb, one object per query), :list
-- (bigint), :run_date.
with decided as (
  select id as query_id, "interval" as interval_days, due as due_on, "byChance" as by_chance, why
  from jsonb_to_recordset(:decisions::jsonb)
    as decision (id uuid, "interval" integer, due date, "byChance" boolean, why text)
),
gone as (
  delete from cadences
  where list_id = :list
    and not exists (select from decided where decided.query_id = cadences.query_id)
)
insert into cadences (list_id, query_id, decided_on, interval_days, due_on, by_chance, why)
select :list::bigint, query_id, :run_date::date, interval_days, due_on, by_chance, why
from decided
order by query_id
on conflict (list_id, query_id) do update
set decided_on = excluded.decided_on,
  interval_days = excluded.interval_days,
  due_on = excluded.due_on,
  by_chance = excluded.by_chance,
  why = excluded.why;
