-- Losses of top ten positions, confirmed by two consecutive answers. Computed from the answers.
create or replace view analysis.live_losses as
with answers as materialized (
  select
    query_id, search_id, run_date, depth, fetched_at, step, steps,
    min(search_id) over (partition by query_id, origin, api) as series
  from analysis.steps
)
select
  found.query_id,
  found.domain,
  found.run_date,
  found.position,
  found.place as base_place,
  found.base_run_date,
  found.depth,
  found.fetched_at,
  found.search_id,
  found.base_search_id
from (
  select distinct on (query_id, domain, base_run_date) *
  from (
    select
      later.query_id, base.domain, base.place, base.run_date as base_run_date, base.search_id as base_search_id,
      later.run_date, later.depth, later.fetched_at, later.search_id, later.step, lower.position,
      lower.position > (base.place >> 20) + 5 or (lower.position is null and later.depth >= base.place >> 20) as lost,
      lag(lower.position > (base.place >> 20) + 5 or (lower.position is null and later.depth >= base.place >> 20))
        over (partition by base.series, base.step, base.domain order by later.step) as lost_before
    from (
      select
        -- The query id is omitted, because the series identifies the query. Narrower rows are more likely to be
        -- sorted in memory.
        answers.series, answers.search_id, answers.run_date, answers.step, shown.domain, shown.place,
        -- Within an answer, the domain's best position comes last, so the domain's next row belongs to a later
        -- answer.
        lead(answers.step, 1, answers.steps + 1)
          over (partition by answers.series, shown.domain order by answers.step, shown.place desc)
          as next_step
      from answers
      join public.result_domains as shown on shown.search_id = answers.search_id
      where shown.position <= 10
        and shown.place is not null
        and shown.domain is not null
    ) as base
    join answers as later
      on later.series = base.series
      and later.step > base.step
      and later.step < base.next_step
    left join lateral (
      select min(result_domains.position) as position
      from public.result_domains
      where later.depth > 10
        and result_domains.search_id = later.search_id
        and result_domains.domain = base.domain
        and result_domains.position > 10
      offset 0
    ) as lower on true
    where base.next_step - base.step > 2
  ) as judged
  where lost
    and lost_before
  order by query_id, domain, base_run_date, step
) as found;
comment on view analysis.live_losses is 'Rows of analysis.confirmed_losses, computed from the answers.';
comment on column analysis.live_losses.run_date is 'Day of the answer that confirmed the loss.';
comment on column analysis.live_losses.position is 'Best position in the answer that confirmed the loss; null if this answer does not show the domain.';
comment on column analysis.live_losses.base_place is 'Last place in the top 10 before the loss, as in public.result_domains.';
comment on column analysis.live_losses.base_run_date is 'Day of the answer in which the domain held base_place.';
comment on column analysis.live_losses.base_search_id is 'Id of the answer in which the domain held base_place.';
