-- Top 10 positions that domains lost before a finished day, excluding losses that were confirmed or
-- reversed by then. The planner does not inline plpgsql functions.
create or replace function analysis.losses_before(day date, queries uuid[])
returns table (query_id uuid, domain text, base_search_id bigint, base_run_date date, base_place bigint)
language plpgsql stable parallel safe rows 1000 as $$
#variable_conflict use_column
begin
  return query
    with answers as materialized (
      select query_id, origin, api, step, search_id, run_date
      from analysis.steps
      where query_id = any (queries)
    )
    select last.query_id, last.domain, last.search_id, last.run_date, last.place
    from (
      select distinct on (before.query_id, held.domain)
        before.query_id, held.domain, base.search_id, base.run_date, held.place, before.run_date as previous_run_date
      from public.finished_days
      join public.finished_steps as steps on steps.finish_id = finished_days.id
      join answers as before on before.query_id = steps.query_id and before.run_date = steps.previous_run_date
      join answers as base
        on base.query_id = before.query_id
        and base.origin = before.origin
        and base.api = before.api
        and base.step <= before.step
      cross join lateral analysis.shown_in(base.search_id) as held
      where finished_days.run_date = day
        and held.position <= 10
        and held.place is not null
        and held.domain is not null
      order by before.query_id, held.domain, base.step desc, held.place
    ) as last
    where last.run_date <> last.previous_run_date
      and not exists (
        select
        from analysis.live_losses as lost
        where lost.query_id = last.query_id
          and lost.domain = last.domain
          and lost.base_run_date = last.run_date
          and lost.run_date <= last.previous_run_date
      );
end
$$;
comment on function analysis.losses_before(date, uuid[]) is 'Losses of top 10 positions before a finished day, except losses that were confirmed by then. The positions are computed from all answers to the given queries.';
