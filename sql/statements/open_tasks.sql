-- Reads the open tasks of a slice in round :round. Returns no row if a later round has been queued.
select s.priority,
  (
    select coalesce(json_agg(json_build_object(
      'id', t.id,
      'query_id', t.query_id,
      'q', q.q,
      'location', q.location,
      'hl', q.hl,
      'gl', q.gl,
      'num', q.num,
      'device', q.device,
      'deaths', t.deaths,
      'refused', exists (select from calls c where c.task_id = t.id and c.http_status in (401, 403)),
      'wait_ms', greatest(0, extract(epoch from t.not_before - clock_timestamp())::float8 * 1000)
    ) order by t.id), '[]')
    from tasks t
    join queries q on q.id = t.query_id
    where t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
  ) as tasks
from slices s
join runs r on r.id = s.run_id
where s.run_id = :run and s.slice = :slice and s.round = :round
  and s.done_at is null and r.state = 'open'
