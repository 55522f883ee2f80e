-- Records a notice for each event of the kinds in :kinds (text[]) since :since (timestamptz),
-- unless the event already has a notice. Nights of a schedule with the same outcome share the
-- notice for the newest night. :alerts is the command that lists alerts.
with news as (
  select
    'run_finished' as kind, r.id::text as subject, r.finished_at as at,
    jsonb_build_object(
      'run', r.id, 'list', l.name, 'run_date', r.run_date, 'state', r.state, 'spent', r.spent, 'uncertain', r.uncertain,
      'tasks', (
        select coalesce(jsonb_object_agg(state, count), '{}')
        from (select t.state, count(*) from tasks t where t.run_id = r.id group by t.state) counted
      )
    ) as fields
  from runs r
  join lists l on l.id = r.list_id
  where r.state in ('done', 'cancelled')
    and r.finished_at > :since::timestamptz
    and not exists (select from notices where kind = 'run_finished' and subject = r.id::text)
  union all
  select
    k.kind, r.id::text, h.judged_at,
    jsonb_build_object('run', r.id, 'list', l.name, 'run_date', r.run_date, 'reasons', h.reasons || h.remarks)
  from night_health h
  join runs r on r.id = h.run_id
  join lists l on l.id = r.list_id
  cross join lateral (select case when r.suspect then 'run_suspect' else 'run_odd' end as kind) k
  where h.judged_at > :since::timestamptz
    and cardinality(h.reasons || h.remarks) > 0
    and not exists (select from notices where notices.kind = k.kind and subject = r.id::text)
  union all
  select
    'stop', s.id::text, s.since,
    jsonb_build_object(
      'account', a.name, 'reason', s.reason, 'detail', s.detail, 'until', s.until
    )
  from stops s
  join accounts a on a.id = s.account_id
  where s.since > :since::timestamptz
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
  where n.decided_at > :since::timestamptz
    and n.outcome in ('missed', 'skipped', 'late', 'failed')
    and not exists (
      select
      from notices
      where kind = 'night_' || n.outcome
        and subject = concat(n.schedule, ' ', n.due_at)
    )
  union all
  -- All alerts that a rule raised in the same check share one notice.
  select
    'rank_alert', looked.first::text, looked.raised_at,
    jsonb_build_object(
      'alert', looked.rule, 'what', looked.what, 'found', looked.found,
      'alerts', (
        select jsonb_agg(jsonb_build_object(
          'id', shown.id, 'text', shown.said, 'question', shown.question, 'list', shown.list, 'tag', shown.tag,
          'query_id', shown.query_id, 'q', (select q from queries where queries.id = shown.query_id),
          'domain', shown.domain, 'other_domain', shown.other_domain, 'feature', shown.feature,
          'direction', shown.direction, 'origin', shown.origin, 'run', shown.run_id,
          'previous_position', shown.previous_position, 'position', shown.position,
          'previous_share', shown.previous_share, 'share', shown.share,
          'base_search_id', shown.base_search_id, 'search_id', shown.search_id,
          'base_run_date', shown.base_run_date, 'run_date', shown.run_date
        ) order by shown.id)
        from (
          select *
          from alerts
          where alerts.rule = looked.rule
            and alerts.raised_at = looked.raised_at
          order by alerts.id
          limit 20
        ) as shown
      )
    ) || coalesce(
      (
        select jsonb_build_object('severity', h.alerts_severity, 'headline', h.alerts_headline)
        from night_health h
        where h.run_id = looked.run_id
          and h.alerts_severity is not null
      ),
      '{}'
    )
  from (
    select rule, raised_at, min(id) as first, min(what) as what, count(*) as found, min(run_id) as run_id
    from alerts
    where raised_at > :since::timestamptz
    group by rule, raised_at
  ) as looked
  where not exists (select from notices where kind = 'rank_alert' and subject = looked.first::text)
  union all
  select
    'rank_recovered', looked.first::text, looked.ended_at,
    jsonb_build_object(
      'alert', looked.rule, 'what', looked.what, 'found', looked.found, 'because', looked.because,
      'alerts', (
        select jsonb_agg(jsonb_build_object(
          'id', shown.id, 'text', shown.said, 'question', shown.question, 'origin', shown.origin,
          'run_date', shown.recovered_run_date, 'search_id', shown.recovered_search_id,
          'position', shown.recovered_position, 'share', shown.recovered_share
        ) order by shown.id)
        from (
          select *
          from alerts
          where alerts.rule = looked.rule
            and coalesce(alerts.recovered_at, alerts.withdrawn_at) = looked.ended_at
          order by alerts.id
          limit 20
        ) as shown
      )
    )
  from (
    select
      rule, coalesce(recovered_at, withdrawn_at) as ended_at, min(id) as first, min(what) as what,
      count(*) as found, min(withdrawn_because) as because
    from alerts
    where coalesce(recovered_at, withdrawn_at) > :since::timestamptz
      -- Alerts that ended because a rule was changed need no notice.
      and (
        recovered_at is not null
        or withdrawn_because <> 'its rule was changed or removed'
      )
    group by rule, coalesce(recovered_at, withdrawn_at)
  ) as looked
  where not exists (select from notices where kind = 'rank_recovered' and subject = looked.first::text)
),
fresh as materialized (
  select
    kind, subject, at, fields, gen_random_uuid() as id, coalesce(fields ->> 'schedule', subject) as batch,
    concat(
      fields #>> '{alerts,0,text}', case when (fields ->> 'found')::integer > 1 then
        format(' (and %s more: %s)', (fields ->> 'found')::integer - 1, :alerts::text)
      end
    ) as alert
  from news
  where kind = any(:kinds::text[])
)
insert into notices (kind, subject, id, part_of, fields, said)
select
  kind, subject, id, nullif(first_value(id) over same, id),
  jsonb_build_object('at', at) || fields
    || case when fields ? 'schedule' then jsonb_build_object('nights', count(*) over all_same) else '{}' end,
  'querymill: ' || case
    when kind = 'run_finished' then format(
      'run %s of %s for %s %s: %s; %s credits used%s', fields ->> 'run', fields ->> 'list', fields ->> 'run_date',
      case fields ->> 'state' when 'done' then 'is finished' else 'was ended early' end,
      coalesce((select string_agg(value || ' ' || key, ', ') from jsonb_each_text(fields -> 'tasks')), 'no tasks'),
      fields ->> 'spent', case when (fields ->> 'uncertain')::numeric > 0 then
        format(', and possibly %s more for calls with an unknown outcome', fields ->> 'uncertain')
      end
    )
    when kind in ('run_suspect', 'run_odd') then format(
      'run %s of %s for %s is %s: %s', fields ->> 'run', fields ->> 'list', fields ->> 'run_date',
      case kind when 'run_odd' then 'odd, but shown' else 'suspect and was left out of trends' end,
      (select string_agg(value, '; ') from jsonb_array_elements_text(fields -> 'reasons'))
    )
    when kind = 'stop' then format(
      'account %s is stopped (%s)%s', fields ->> 'account', fields ->> 'reason', ': ' || (fields ->> 'detail')
    )
    when kind = 'rank_alert' and fields ->> 'severity' = 'high' then format(
      '%s. Rank alert %s: %s', fields ->> 'headline', fields ->> 'alert', alert
    )
    when kind = 'rank_alert' then format(
      'rank alert %s: %s; %s', fields ->> 'alert', alert, fields #>> '{alerts,0,question}'
    )
    when kind = 'rank_recovered' and fields ->> 'because' is null then format(
      'rank alert %s ended on %s%s. It was: %s; %s', fields ->> 'alert', fields #>> '{alerts,0,run_date}',
      ', at ' || coalesce(
        round((fields #>> '{alerts,0,share}')::numeric * 100, 2) || ' %', fields #>> '{alerts,0,position}'
      ),
      alert, fields #>> '{alerts,0,question}'
    )
    when kind = 'rank_recovered' then format(
      'rank alert %s is withdrawn because %s: %s', fields ->> 'alert', fields ->> 'because', alert
    )
    else format(
      '%s, due %s%s, %s%s', fields ->> 'schedule',
      case when count(*) over all_same > 1 then format('%s times up to ', count(*) over all_same) end,
      to_char((fields ->> 'due_at')::timestamptz at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
      case kind
        when 'night_missed' then 'was missed'
        when 'night_skipped' then 'was skipped'
        when 'night_late' then 'runs late'
        else 'failed'
      end,
      ': ' || (fields ->> 'note')
    )
  end
from fresh
window same as (partition by kind, batch order by at desc, id), all_same as (partition by kind, batch)
order by at
