-- Reads the newest days on which all runs of a list have been judged and no run is suspect, newest first. Includes days
-- up to :until, and later days that were already checked for alerts. Parameters: :until (date), :list (name of the
-- list, or null for any list), :limit.
select runs.run_date
from runs
join lists on lists.id = runs.list_id
left join night_health as health on health.run_id = runs.id
where runs.run_date <= greatest(:until::date, (
    select max(looked.run_date)
    from night_health as health
    join runs as looked on looked.id = health.run_id
    join lists as other on other.id = looked.list_id
    where health.alerts_at is not null
      and (:list::text is null or other.name = :list::text)
  ))
  and (:list::text is null or lists.name = :list::text)
group by runs.run_date
having bool_and(
  not runs.suspect
  and runs.state in ('done', 'cancelled')
  and coalesce(health.judged_at >= runs.finished_at, false)
)
order by runs.run_date desc
limit :limit;
