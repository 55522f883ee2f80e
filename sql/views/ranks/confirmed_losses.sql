-- Domains that lost a place in the top ten and stayed away in two answers running.
create or replace view analysis.confirmed_losses as
select distinct on (query_id, domain, base_search_id)
  query_id, q, domain, run_date, position, base_position, base_run_date, url_key, depth, fetched_at, search_id, base_search_id
from (
  select
    base.query_id, later.q, base.domain, later.run_date, lower.position,
    base.position as base_position, base.run_date as base_run_date, base.url_key,
    later.depth, later.fetched_at, later.search_id, base.search_id as base_search_id, later.step,
    lower.position > base.position + 5 or (lower.position is null and later.depth >= base.position) as lost,
    lag(lower.position > base.position + 5 or (lower.position is null and later.depth >= base.position))
      over (partition by base.search_id, base.domain order by later.step) as lost_before
  from (
    select
      ranks.query_id, ranks.domain, ranks.position, ranks.run_date, ranks.url_key, ranks.search_id,
      steps.origin, steps.api, steps.step,
      lead(steps.step, 1, steps.steps + 1)
        over (partition by ranks.query_id, ranks.domain, steps.origin, steps.api order by steps.step) as next_step
    from analysis.ranks
    join analysis.steps using (search_id, run_date)
    where ranks.position <= 10
  ) as base
  join analysis.steps as later
    on later.query_id = base.query_id
    and later.origin = base.origin
    and later.api = base.api
    and later.step > base.step
    and later.step < base.next_step
  left join (
    select search_id, run_date, domain, min(position) as position
    from analysis.results
    where position > 10
    group by search_id, run_date, domain
  ) as lower
    on lower.search_id = later.search_id
    and lower.run_date = later.run_date
    and lower.domain = base.domain
  -- Two answers away from the top ten are needed before anything can be confirmed.
  where base.next_step - base.step > 2
) as judged
where lost
  and lost_before
order by query_id, domain, base_search_id, step;
comment on view analysis.confirmed_losses is 'Domains that held a place in the top ten and then, in two answers running, stood more than five places lower or were not in an answer deep enough to show them. One row for each loss, at the answer that confirms it.';
comment on column analysis.confirmed_losses.run_date is 'Day of the answer that confirmed the loss.';
comment on column analysis.confirmed_losses.position is 'Best place in that answer; null: not in it.';
comment on column analysis.confirmed_losses.base_position is 'Last place in the top ten before.';
comment on column analysis.confirmed_losses.base_run_date is 'Day of that place.';
comment on column analysis.confirmed_losses.url_key is 'Page that held it.';
comment on column analysis.confirmed_losses.base_search_id is 'The answer that showed that place.';
