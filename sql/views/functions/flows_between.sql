-- Weighted clicks that each domain lost for a query, divided among the domains that gained.
create or replace function analysis.flows_between(since date, until date, domains text[] default null)
returns table (query_id uuid, q text, loser text, taker text, clicks double precision)
language sql stable parallel safe as $$
  with changes as materialized (
    select
      movers.query_id, movers.q, movers.domain,
      coalesce(weights.weight, 1) * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)) as clicks
    from analysis.movers_between(since, until) as movers
    left join analysis.latest_weights as weights on weights.query_id = movers.query_id
    left join analysis.ctr as now on now.position = movers.position
    left join analysis.ctr as before on before.position = movers.previous_position
    where flows_between.domains is null
      or movers.query_id = any (array(
        select own.query_id
        from analysis.movers_between(since, until, flows_between.domains) as own
        where own.position is distinct from own.previous_position
      ))
  ),
  totals as materialized (
    select
      changes.query_id,
      coalesce(sum(-clicks) filter (where clicks < 0), 0) as lost,
      coalesce(sum(clicks) filter (where clicks > 0), 0) as gained
    from changes
    group by changes.query_id
  )
  select losers.query_id, losers.q, losers.domain, takers.domain,
    -losers.clicks * takers.clicks / greatest(totals.lost, totals.gained)
  from changes as losers
  join changes as takers on takers.query_id = losers.query_id and takers.clicks > 0
  join totals on totals.query_id = losers.query_id
  where losers.clicks < 0
    and (
      flows_between.domains is null
      or losers.domain = any (flows_between.domains)
      or takers.domain = any (flows_between.domains)
    )
  union all
  select changes.query_id, changes.q, changes.domain, null, -changes.clicks * (1 - totals.gained / totals.lost)
  from changes
  join totals on totals.query_id = changes.query_id
  where changes.clicks < 0
    and totals.lost > totals.gained
    and (flows_between.domains is null or changes.domain = any (flows_between.domains))
  union all
  select changes.query_id, changes.q, null, changes.domain, changes.clicks * (1 - totals.lost / totals.gained)
  from changes
  join totals on totals.query_id = changes.query_id
  where changes.clicks > 0
    and totals.gained > totals.lost
    and (flows_between.domains is null or changes.domain = any (flows_between.domains))
$$;
comment on function analysis.flows_between(date, date, text[]) is 'Weighted clicks that moved from each losing domain to each gaining domain, by query, between the last known answers on two days. A domain''s loss is divided among the domains that gained, in proportion to their gains. Unknown domains are null. The rows add up to each domain''s losses and gains. The third argument restricts the result to the given domains.';
