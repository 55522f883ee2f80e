-- Reads a report's days and their counts, from views that are already restricted to the report's
-- slice. The newest day is the newest full day of the period or, if no day is full, the newest day
-- with any answer. Full days of a slice depend on the slice's own query counts, by the rule in
-- analysis.days. Parameters: :since, :until (date, or null), :sliced (boolean).
with told as materialized (
  select run_date, answered, thin
  from analysis.days
  where not :sliced::boolean
  union all
  select
    run_date,
    queries as answered,
    queries * 2 < max(planned) over (
      order by run_date range between interval '30 days' preceding and current row
    ) as thin
  from analysis.label_days
  where tag = '*'
    and :sliced::boolean
),
full_days as (
  select run_date
  from told
  where answered > 0
    and not thin
),
chosen as materialized (
  select case
    when :sliced::boolean or :since::date is not null or :until::date is not null then coalesce(
      (
        select max(run_date)
        from full_days
        where run_date between coalesce(:since::date, '-infinity') and coalesce(:until::date, 'infinity')
      ),
      (
        select max(run_date)
        from told
        where answered > 0
          and run_date between coalesce(:since::date, '-infinity') and coalesce(:until::date, 'infinity')
      )
    )
    else analysis.newest_day()
  end as day
)
select
  analysis.origins() as origins,
  chosen.day,
  case
    when :since::date is null then (select max(run_date) from full_days where run_date < chosen.day)
    -- The requested first day or, if no full day is that old, the earliest full day.
    else coalesce(
      (select :since::date where exists (select from full_days where run_date <= :since::date)),
      (select min(run_date) from full_days where run_date < chosen.day)
    )
  end as previous,
  case
    when :sliced::boolean then (select max(run_date) from told)
    else (select max(run_date) from runs)
  end as newest,
  (select count(*) from analysis.latest) as queries,
  kept.answers,
  kept.credits
from chosen
cross join (
  select count(*) as answers, coalesce(sum(credits_used), 0) as credits
  from searches
  where origin = any ((select analysis.origins())::text[])
    and case when (select analysis.slice() is not null)
      then (query_id in (select query_id from analysis.queries_in_slice()))::integer
      else 1
    end <> 0
) as kept;
