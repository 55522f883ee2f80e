-- Top 10 positions lost by domains, for one finished day. Losses that an earlier day confirmed are
-- excluded. The planner does not inline plpgsql functions. Memoize would only cost time, as in compared_on.
create or replace function analysis.losses_on(day date)
returns table (
  query_id uuid, domain text, base_search_id bigint, base_run_date date, base_place bigint, "position" bigint,
  confirmed boolean
)
language plpgsql stable parallel safe rows 1000
set enable_memoize = off as $$
#variable_conflict use_column
declare
  -- Queries whose previous answer is from a day without stored rows.
  unkept uuid[];
begin
  select array_agg(steps.query_id) into unkept
  from public.finished_days
  join public.finished_steps as steps on steps.finish_id = finished_days.id
  left join public.finished_days as earlier
    on earlier.run_date = steps.previous_run_date
    and earlier.basis = finished_days.basis
    and earlier.made_at is not null
  where finished_days.run_date = day
    and (steps.previous_search_id is not null)::integer <> 0
    and earlier.id is null;
  return query
    with steps as materialized (
      select steps.*, earlier.id as earlier
      from public.finished_days
      join public.finished_steps as steps on steps.finish_id = finished_days.id
      left join public.finished_days as earlier
        on earlier.run_date = steps.previous_run_date
        and earlier.basis = finished_days.basis
        and earlier.made_at is not null
      where finished_days.run_date = day
        -- On the first day, no step has a previous answer. With the statistics of that day, the planner would expect no
        -- rows, and would compare each step with each domain. It does not look into this expression.
        and (steps.previous_search_id is not null)::integer <> 0
    ),
    shown as materialized (
      select steps.query_id, places.domain, places.place, places.previous_place
      from steps
      cross join lateral analysis.places_of(steps.search_id, steps.previous_search_id) as places
    ),
    missing as (
      select
        steps.query_id, steps.depth, steps.previous_depth, steps.previous_run_date, kept.domain, kept.base_search_id,
        kept.base_run_date, kept.base_place
      from steps
      join public.finished_losses as kept on kept.finish_id = steps.earlier and kept.query_id = steps.query_id
      where not kept.confirmed
        -- Without this condition, the losses of all days would be read.
        and kept.finish_id = any ((select array_agg(distinct steps.earlier) from steps)::bigint[])
      union all
      select
        steps.query_id, steps.depth, steps.previous_depth, steps.previous_run_date, shown.domain,
        steps.previous_search_id, steps.previous_run_date, shown.previous_place
      from shown
      join steps using (query_id)
      where shown.previous_place >> 20 <= 10
        and (shown.place is null or shown.place >> 20 > 10)
      union all
      select
        steps.query_id, steps.depth, steps.previous_depth, steps.previous_run_date, found.domain, found.base_search_id,
        found.base_run_date, found.base_place
      from analysis.losses_before(day, unkept) as found
      join steps using (query_id)
      where unkept is not null
    )
    select
      judged.query_id, judged.domain, judged.base_search_id, judged.base_run_date, judged.base_place, judged.position,
      -- Two later answers must confirm the loss; the answer with the old position does not count.
      judged.base_run_date <> judged.previous_run_date
        and coalesce(judged.position > judged.most, judged.depth >= judged.base_place >> 20)
        and coalesce(judged.previous_position > judged.most, judged.previous_depth >= judged.base_place >> 20)
    from (
      select
        missing.*, (missing.base_place >> 20) + 5 as most,
        case when missing.depth > 10 then shown.place >> 20 end as position,
        case when missing.previous_depth > 10 then shown.previous_place >> 20 end as previous_position
      from missing
      left join shown using (query_id, domain)
      where shown.place is null
        or shown.place >> 20 > 10
    ) as judged;
end
$$;
comment on function analysis.losses_on(date) is 'Top 10 positions lost by domains, for one finished day. A loss is included if the day''s answers confirm it, or if it is not confirmed yet. Earlier losses are read from the rows stored for the previous answer''s day, so older answers are not read.';
