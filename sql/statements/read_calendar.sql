-- Reads every run, and every night without a run, by day and list, newest first.
select
  l.name as list, r.run_date, r.id as run, r.kind, r.state, n.schedule, n.outcome, n.note, r.suspect,
  coalesce(h.reasons || h.remarks, '{}') as reasons, h.asked, h.answered, r.spent, r.uncertain
from runs r
join lists l on l.id = r.list_id
left join night_health h on h.run_id = r.id
left join lateral (
  select schedule, outcome, note
  from nights
  where run_id = r.id
  order by due_at desc
  limit 1
) n on true
where r.run_date between :since::date and :until::date
union all
select
  coalesce(s.list, n.schedule), n.run_date, null, 'nightly', '', n.schedule, coalesce(n.outcome, 'waiting'), n.note,
  false, '{}', null, null, 0, 0
from nights n
left join schedules s on s.name = n.schedule
where n.run_id is null
  and n.run_date between :since::date and :until::date
order by run_date desc, run desc nulls last, list
limit :limit
