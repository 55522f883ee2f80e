-- Creates the `merged` temporary table from the staged lines in :"wanted", with one row for each distinct query. The
-- row contains the query's first line, most urgent priority, highest weight, shortest interval and lowest maximum
-- age. The row also shows whether run :run already has the query, whether the query is skipped, and which
-- answer is reused.
--
-- :joined    tasks are added to an open run; a new run has no tasks yet
-- :nightly   queries may be skipped, and a line's maximum age applies
-- :own_age   lines may have a maximum age of their own
-- :dated     the plan might not be bought in full, so the times of last answers are needed
-- :judged    a line has an interval or a maximum age, or the list has a cadence
-- :adaptive  the intervals of the cadence table apply as well
-- :priced    labels or lists have shares; :classes and :credits hold known prices, :dearest the price of other classes
create temporary table merged on commit drop as
select
  lines.id, lines.ord, lines.priority, lines.weight, lines.every_days, lines.max_age_ms, known.already,
  case when rest.rests then last.id else answer.id end as search_id, rest.rests,
  answer.id is not null as reused, coalesce(answer.unreadable, false) as unreadable,
  case when :judged::boolean then last.fetched_at else last_time.fetched_at end as answered,
  case
    when not :judged::boolean then false
    when coalesce(lines.every_days, lines.max_age_ms, cadence.interval_days) is null then false
    when last.id is null then true
    else coalesce(last.run_date + 2 * coalesce(lines.every_days, cadence.interval_days) < :run_date::date, false)
      or coalesce(last.fetched_at < now() - 2 * lines.max_age_ms * interval '1 millisecond', false)
  end as overdue,
  lines.share,
  case
    when :priced::boolean then coalesce(
      nullif((
        select prices.credits
        from unnest(:classes::text[], :credits::float8[]) as prices (class, credits)
        where prices.class = lines.num || '/' || coalesce(lines.device, '-')
      ), 0),
      :dearest::float8
    )
  end as price
from (
  select
    id, min(ord) as ord, min(priority) as priority, max(weight) as weight,
    min(every_days) as every_days, min(max_age_ms) as max_age_ms,
    min(case when :priced::boolean then share end) as share,
    min(case when :priced::boolean then num end) as num,
    min(case when :priced::boolean then device end) as device
  from :"wanted"
  group by id
) as lines
cross join lateral (
  -- A skipped query may become due when a later night joins the run, and a cancelled query may be added again.
  select :joined::boolean and exists (
    select
    from tasks
    where tasks.run_id = :run::bigint
      and tasks.query_id = lines.id
      and tasks.state <> 'cancelled'
      and not (:nightly::boolean and tasks.state = 'not_asked')
  ) as already
) as known
left join cadences as cadence
  on :adaptive::boolean and cadence.list_id = :list::bigint and cadence.query_id = lines.id
-- Reads the time of each query's last answer with an index-only scan of searches.
left join lateral (
  select searches.fetched_at
  from searches
  where :dated::boolean and not :judged::boolean
    and searches.query_id = lines.id
    and searches.origin = :origin::text
    and searches.api = :api::text
  order by searches.fetched_at desc
  limit 1
) as last_time on not known.already
-- Last readable, trusted answer to each query, with its run date. Answers with later run dates (from a fast clock) are
-- skipped.
left join lateral (
  select searches.id, searches.fetched_at, runs.run_date
  from searches
  join tasks on tasks.id = searches.task_id
  join runs on runs.id = tasks.run_id
  where :judged::boolean
    and searches.query_id = lines.id
    and searches.origin = :origin::text
    and searches.api = :api::text
    and searches.parse_error is null
    and not runs.suspect
    and not exists (select from quarantine where quarantine.search_id = searches.id)
    and runs.run_date <= :run_date::date
  order by searches.fetched_at desc, searches.id desc
  limit 1
) as last on not known.already
cross join lateral (
  -- An interval set by the list takes precedence over an interval derived from the history.
  select :nightly::boolean and :judged::boolean and coalesce(
    last.id is not null and case
      when lines.every_days is not null then last.run_date + lines.every_days
      when cadence.by_chance
        or last.fetched_at < now() - lines.max_age_ms * interval '1 millisecond' then null
      else cadence.due_on
    end > :run_date::date,
    false
  ) as rests
) as rest
-- Answer to be reused. Unreadable answers are included, because they were paid for and can be parsed again later.
left join lateral (
  select searches.id, searches.parse_error is not null as unreadable
  from searches
  where (:own_age::boolean or :max_age_ms::bigint > 0)
    and searches.query_id = lines.id
    and searches.origin = :origin::text
    and searches.api = :api::text
    and searches.fetched_at > now() - case
      when :own_age::boolean then coalesce(lines.max_age_ms, :max_age_ms::bigint)
      else :max_age_ms::bigint
    end * interval '1 millisecond'
    and not exists (select from quarantine where quarantine.search_id = searches.id)
  order by unreadable, searches.fetched_at desc
  limit 1
) as answer on not known.already and not rest.rests
