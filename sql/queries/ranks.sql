-- Where do domains rank for each query on a day, compared with an earlier day?
-- :domain = (a domain; empty: our domains; any: every domain)
-- :day = newest (the later day; newest: the newest full day)
-- :days = 7 (number of days between the two days, if --since is not given)
-- :change = changed [changed|all|same|up|down|entered|left] (kind of change to show)
-- :crossed = (a position, such as 10; only moves across this position are shown)
-- :top = 50 (number of rows, largest gains and losses of clicks first)
select
  moves.q, moves.domain, moves.previous_position, moves.position, moves.change, moves.places,
  round(moves.clicks::numeric, 3) as click_change, moves.url_key as page, moves.previous_url_key as previous_page,
  taker.domain as taken_by, moves.depth, moves.previous_run_date, moves.run_date,
  analysis.variant_of(moves.query_id) as variant
from (
  select
    moved.*,
    coalesce(weights.weight, 1) * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)) as clicks
  from (
    -- If the value is null, all domains are included.
    select case
      when :domain::text is null then array(select domain from analysis.ours_on(:day::date))
      when :domain <> 'any' then array[:domain::text]
    end as domains
    offset 0
  ) as asked
  cross join lateral analysis.movers_between(
    analysis.since(:day::date, :days::integer), :day::date, asked.domains
  ) as moved
  left join analysis.latest_weights as weights on weights.query_id = moved.query_id
  left join analysis.ctr as now on now.position = moved.position
  left join analysis.ctr as before on before.position = moved.previous_position
  where case :change when 'all' then true when 'changed' then moved.change <> 'same' else moved.change = :change end
    and (
      :crossed::bigint is null
      or coalesce(moved.position <= :crossed::bigint, false)
        <> coalesce(moved.previous_position <= :crossed::bigint, false)
    )
  order by abs(coalesce(weights.weight, 1) * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0))) desc, moved.places desc,
    moved.q, moved.query_id, moved.domain
  limit :top::integer
) as moves
left join lateral (
  select shown.domain
  from analysis.shown_in(moves.search_id) as shown
  where shown.position = moves.previous_position
    and moves.change in ('down', 'left')
  order by shown.ordinal
  limit 1
) as taker on true
order by abs(moves.clicks) desc, moves.places desc, moves.q, variant, moves.domain;

-- show losses: Which losses of a top ten position were confirmed by two consecutive answers?
-- :domain = (a domain; empty: our domains)
-- :top = 50 (number of rows, newest first)
select
  run_date, q, domain, base_position, position, url_key as page, base_run_date,
  analysis.variant_of(confirmed_losses.query_id) as variant
from analysis.confirmed_losses
where analysis.in_span(run_date)
  and confirmed_losses.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(confirmed_losses.run_date) as ours
      where ours.domain = confirmed_losses.domain
    )
    else domain = :domain
  end
order by run_date desc, base_position, q, domain, variant
limit :top::integer;

-- show chance: Which of a domain's moves on a day are larger than usual for the query?
-- :domain = (a domain; empty: our domains)
-- :day = newest (run date; newest: the newest full day)
-- :top = 20 (number of rows, least likely moves first)
select
  q, domain, previous_position, position, change, places,
  as_great as earlier_as_great, earlier_moves, round(chance::numeric, 3) as chance, verdict,
  analysis.variant_of(query_id) as variant
from analysis.judged_moves(
  :day::date,
  case
    when :domain::text is null then array(
      select distinct domain
      from analysis.ours_on(:day::date)
    )
    else array[:domain]
  end
)
order by verdict = 'unknown', chance, places desc, q, variant, domain
limit :top::integer;

-- show reach: For which queries would a domain gain the most by reaching position 3?
-- :domain = (a domain; empty: our domains)
-- :top = 20 (number of rows)
select
  q, domain, position, weight, round(gain::numeric, 2) as click_gain,
  analysis.variant_of(striking_distance.query_id) as variant
from analysis.striking_distance
where case
  when :domain::text is null then domain in (
    select domain
    from analysis.ours_on(current_date)
  )
  else domain = :domain
end
order by striking_distance.gain desc, q, domain, variant
limit :top::integer;
