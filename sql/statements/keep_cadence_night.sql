-- Stores a summary of the decisions about a night. Parameters: :list (bigint), :run_date,
-- :longest_days (integer).
insert into cadence_nights
  (list_id, run_date, longest_days, queries, due, by_chance, rested, intervals)
select
  :list::bigint, :run_date::date, :longest_days::integer, count(*),
  count(*) filter (where due_on <= decided_on),
  count(*) filter (where by_chance),
  count(*) filter (where due_on > decided_on and not by_chance),
  array(
    select (select count(*)::integer from cadences as held where held.list_id = :list and held.interval_days = days)
    from generate_series(1, :longest_days::integer) as days
    order by days
  )
from cadences
where list_id = :list
on conflict (list_id, run_date) do update
set decided_at = excluded.decided_at,
  longest_days = excluded.longest_days,
  queries = excluded.queries,
  due = excluded.due,
  by_chance = excluded.by_chance,
  rested = excluded.rested,
  intervals = excluded.intervals;
