-- Cost of each list's answers on each day, and the number of changed answers.
create or replace view analysis.costs as
-- In stored rows, a changed answer is counted on the day for which it was bought. If a compared answer was bought
-- for another day, all rows are computed from the answers.
with chosen as materialized (
  select
    analysis.basis() is not null
      and not exists (select from analysis.away_days)
      -- For queries that were not always in the slice, the stored previous answer may be wrong.
      and not exists (select from analysis.sliced_queries() where not always)
      and not exists (
        select
        from finished_days
        where finished_days.strays
          and finished_days.made_at is not null
          and finished_days.basis = analysis.basis()
      )
      and not exists (
        select
        from analysis.unfinished_days
        join runs on runs.run_date = unfinished_days.run_date
        join tasks on tasks.run_id = runs.id and tasks.state = 'reused'
        join searches on searches.id = tasks.search_id
        join tasks as own on own.id = searches.task_id
        join runs as bought on bought.id = own.run_id
        where bought.run_date <> runs.run_date
      ) as kept,
    array(select run_date from analysis.unfinished_days) as unfinished
)
select
  run_date,
  list,
  tag,
  calls,
  credits_used,
  answers,
  changed,
  credits_used / nullif(answers, 0)::double precision as credits_per_answer,
  credits_used / nullif(changed, 0)::double precision as credits_per_change,
  unknown_calls,
  credits_unknown,
  credits_lost
from (
  select
    run_date, list, tag,
    coalesce(sum(calls), 0)::bigint as calls,
    coalesce(sum(credits_used), 0)::bigint as credits_used,
    coalesce(sum(answers), 0)::bigint as answers,
    sum(changed)::bigint as changed,
    coalesce(sum(unknown_calls), 0)::bigint as unknown_calls,
    coalesce(sum(credits_unknown), 0)::bigint as credits_unknown,
    coalesce(sum(credits_lost), 0)::bigint as credits_lost
  from (
    select
      finished_days.run_date, kept.list, kept.tags, kept.calls, kept.credits_used, kept.answers, kept.changed,
      kept.unknown_calls, kept.credits_unknown, kept.credits_lost
    from finished_days
    join finished_costs as kept on kept.finish_id = finished_days.id
    where finished_days.made_at is not null
      and finished_days.basis = (select analysis.basis())
      and (select chosen.kept from chosen)
      and case when (select analysis.slice() is not null)
        then (kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))::integer
        else 1
      end <> 0
    union all
    select
      members.run_date, members.list, members.tags, spent.calls, spent.credits_used, found.answers, found.changed,
      spent.unknown_calls, spent.credits_unknown, spent.credits_lost
    from analysis.memberships as members
    left join (
      select
        task_id,
        count(*) filter (where outcome is distinct from 'unsent') as calls,
        coalesce(sum(credits_used), 0) as credits_used,
        count(*) filter (where outcome = 'unknown') as unknown_calls,
        coalesce(sum(credits_reserved) filter (where outcome = 'unknown'), 0) as credits_unknown,
        coalesce(sum(credits_used) filter (where not readable), 0) as credits_lost
      from (
        select calls.*, searches.id is not null and searches.parse_error is null as readable
        from calls
        left join searches on searches.call_id = calls.id
      ) as judged
      group by task_id
    ) as spent on spent.task_id = members.task_id
    left join (
      select
        searches.task_id,
        count(*) as answers,
        case when not bool_or(searches.archived and searches.id not in (select search_id from public.loaded_answers))
          then count(*) filter (where volatility.volatility > 0)
        end as changed
      from searches
      -- An answer that is compared on two days is counted once.
      left join (
        select search_id, max(volatility) as volatility
        from analysis.volatility
        group by search_id
      ) as volatility on volatility.search_id = searches.id
      where searches.parse_error is null
        and searches.origin = any ((select analysis.origins())::text[])
      group by searches.task_id
    ) as found on found.task_id = members.task_id
    left join public.finished_days as finished on finished.run_date = members.run_date and finished.made_at is not null
    where (select not kept or unfinished <> '{}' from chosen)
      and ((select not kept from chosen) or members.run_date = any ((select unfinished from chosen)::date[]))
      and case when (select analysis.slice() is not null)
        then (coalesce(
          (
            select kept.set_id
            from public.finished_queries as kept
            where kept.finish_id = finished.id
              and kept.query_id = members.query_id
          ) = any ((select analysis.sets_in_slice())::bigint[]),
          (members.query_id, members.run_date) in (select sliced.query_id, sliced.run_date from analysis.sliced_days() as sliced)
        ))::integer
        else 1
      end <> 0
  ) as held
  cross join unnest(array_remove(tags, '*') || '*'::text) as tag
  group by run_date, list, tag
) as summed;
comment on view analysis.costs is 'Credits used for the queries of each list and label on each day, with the numbers of readable and changed answers. A query with several labels is counted once under each label.';
comment on column analysis.costs.calls is 'Number of calls sent.';
comment on column analysis.costs.credits_used is 'Credits used, as reported by the answers from all origins.';
comment on column analysis.costs.answers is 'Number of readable answers from the selected origins.';
comment on column analysis.costs.changed is 'Number of readable answers that differ from the previous answer to the same query; null if some of the answers are in the archive.';
comment on column analysis.costs.credits_per_answer is 'Credits per readable answer.';
comment on column analysis.costs.credits_per_change is 'Credits per changed answer.';
comment on column analysis.costs.unknown_calls is 'Number of calls with an unknown outcome.';
comment on column analysis.costs.credits_unknown is 'Credits reserved for calls with an unknown outcome: the maximum possible cost of these calls.';
comment on column analysis.costs.credits_lost is 'Credits used by calls without a readable answer.';
