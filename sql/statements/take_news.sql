-- Notes what happened since $1 (timestamptz), is of the kinds $2 (text[]) and was not noted yet; gives it back as jsonb, oldest first.
with news as (
  select
    'run_finished' as kind, r.id::text as subject, r.finished_at as at,
    jsonb_build_object(
      'run', r.id, 'list', l.name, 'run_date', r.run_date, 'state', r.state, 'spent', r.spent,
      'tasks', (
        select coalesce(jsonb_object_agg(state, count), '{}')
        from (select t.state, count(*) from tasks t where t.run_id = r.id group by t.state) counted
      )
    ) as fields
  from runs r
  join lists l on l.id = r.list_id
  where r.state in ('done', 'cancelled')
    and r.finished_at > $1::timestamptz
    and not exists (select from notices where kind = 'run_finished' and subject = r.id::text)
  union all
  select
    'run_suspect', r.id::text, h.judged_at,
    jsonb_build_object('run', r.id, 'list', l.name, 'run_date', r.run_date, 'reasons', h.reasons)
  from night_health h
  join runs r on r.id = h.run_id and r.suspect
  join lists l on l.id = r.list_id
  where h.judged_at > $1::timestamptz
    and not exists (select from notices where kind = 'run_suspect' and subject = r.id::text)
  union all
  select
    'stop', s.id::text, s.since,
    jsonb_build_object(
      'account', a.name, 'reason', s.reason, 'detail', s.detail, 'until', s.until
    )
  from stops s
  join accounts a on a.id = s.account_id
  where s.since > $1::timestamptz
    and s.reason <> 'rate'
    and not exists (select from notices where kind = 'stop' and subject = s.id::text)
  union all
  select
    'night_' || n.outcome, concat(n.schedule, ' ', n.due_at), n.due_at,
    jsonb_build_object(
      'schedule', n.schedule, 'due_at', n.due_at, 'run_date', n.run_date, 'run', n.run_id,
      'note', n.note
    )
  from nights n
  where n.decided_at > $1::timestamptz
    and n.outcome in ('missed', 'skipped', 'late', 'failed')
    and not exists (
      select
      from notices
      where kind = 'night_' || n.outcome
        and subject = concat(n.schedule, ' ', n.due_at)
    )
),
taken as (
  insert into notices (kind, subject)
  select kind, subject
  from news
  where kind = any($2::text[])
  on conflict do nothing
  returning kind, subject
)
select jsonb_build_object('kind', kind, 'subject', subject, 'at', at) || fields as fields
from news
join taken using (kind, subject)
order by at
