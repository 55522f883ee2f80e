-- Which domains gained or lost the most between two days?
-- :day = newest (the later day; newest: the newest full day)
-- :days = 7 (number of days between the two days, if --since is not given)
-- :top = 20 (number of rows)
with known as (
  select distinct domain
  from analysis.known_on(analysis.since(:day::date, :days::integer)) as answers
  cross join lateral analysis.domains_in(answers.search_id) as result_domains
),
-- A query's first answer is not a gain for any domain, so queries without an earlier answer are counted separately.
asked_since as (
  select result_domains.domain, count(distinct answers.query_id) as queries
  from analysis.known_on(:day::date) as answers
  cross join lateral (
    -- Looks up runs and tasks by key, up to the first earlier task. Nearly every query has an earlier task.
    select count(*) as runs
    from (
      select
      from runs
      cross join lateral (
        select
        from tasks
        where tasks.run_id = runs.id
          and tasks.query_id = answers.query_id
        offset 0
      ) as asked
      where runs.run_date <= analysis.since(:day::date, :days::integer)
      limit 1
    ) as first
  ) as earlier
  cross join lateral analysis.domains_in(answers.search_id) as result_domains
  where result_domains.place is not null
    and answers.query_id not in (
      select query_id
      from analysis.known_on(analysis.since(:day::date, :days::integer))
    )
    and earlier.runs = 0
  group by result_domains.domain
),
-- Read once. Otherwise, the curve may be looked up for each domain of each query.
curve as materialized (
  select position, ctr
  from analysis.ctr
)
select
  summed.domain,
  round(summed.change::numeric, 3) as click_change,
  summed.queries_up, summed.queries_down, summed.ranked,
  summed.fresh and summed.domain not in (select domain from known where domain is not null) as new,
  coalesce(asked_since.queries, 0) as newly_asked
from (
  select
    moves.domain,
    sum(weight * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0))) as change,
    count(*) filter (where moves.change in ('up', 'entered')) as queries_up,
    count(*) filter (where moves.change in ('down', 'left')) as queries_down,
    count(moves.position) as ranked,
    bool_and(moves.previous_position is null) as fresh
  from analysis.movers_between(analysis.since(:day::date, :days::integer), :day::date) as moves
  join analysis.latest_weights as weights using (query_id)
  left join curve as now on now.position = moves.position
  left join curve as before on before.position = moves.previous_position
  group by moves.domain
) as summed
left join asked_since on asked_since.domain = summed.domain
where summed.change <> 0
order by abs(summed.change) desc, summed.domain
limit :top::integer;

-- show takers: Which domains gained the clicks that a domain lost between two days?
-- :domain = (a domain; empty: our domains)
-- :day = newest (the later day; newest: the newest full day)
-- :days = 7 (number of days between the two days, if --since is not given)
select
  flows.loser, flows.taker, round(sum(flows.clicks)::numeric, 3) as clicks,
  count(*) as queries, min(flows.q) as example
from (
  select case
    when :domain::text is null then array(select domain from analysis.ours_on(:day::date))
    else array[:domain::text]
  end as domains
  offset 0
) as asked
cross join lateral analysis.flows_between(analysis.since(:day::date, :days::integer), :day::date, asked.domains) as flows
where flows.loser = any (asked.domains)
group by flows.loser, flows.taker
order by sum(flows.clicks) desc, flows.loser, flows.taker;

-- show new: Which domains rank in the top positions now, but did not appear in any answer on the earlier day?
-- :day = newest (the later day; newest: the newest full day)
-- :days = 30 (number of days between the two days, if --since is not given)
-- :within = 10 (last position that counts as a top position)
-- :top = 20 (number of rows)
with known as materialized (
  select distinct result_domains.domain
  from analysis.known_on(analysis.since(:day::date, :days::integer)) as answers
  cross join lateral analysis.domains_in(answers.search_id) as result_domains
)
select
  result_domains.domain,
  count(distinct pairs.query_id) as queries,
  min(result_domains.place >> 20) as best_position,
  min(queries.q) as example,
  min(pairs.previous_run_date) as since,
  max(pairs.run_date) as run_date
-- Reads only queries that were answered on both days, because every domain is new for a query asked for the first time.
from analysis.pairs_between(analysis.since(:day::date, :days::integer), :day::date) as pairs
join queries on queries.id = pairs.query_id
cross join lateral analysis.domains_in(pairs.search_id) as result_domains
where result_domains.place >> 20 <= :within::bigint
  and result_domains.domain not in (select domain from known)
  and result_domains.domain not in (select domain from own_domains)
group by result_domains.domain
order by queries desc, best_position, result_domains.domain
limit :top::integer;

-- show rival: For which queries does a rival rank above or below a domain?
-- :rival (the rival's domain or brand)
-- :domain = (a domain; empty: our domains)
-- :day = newest (run date; newest: the newest full day)
-- :top = 30 (number of rows, largest differences first)
select
  q,
  own_position,
  rival_position,
  case when rival_position is null or own_position < rival_position then 'we' else 'they' end as ahead,
  round(abs(difference)::numeric, 3) as clicks,
  analysis.variant_of(query_id) as variant
from (
  select
    ranks.query_id,
    max(ranks.q) as q,
    min(ranks.position) filter (where not theirs.held) as own_position,
    min(ranks.position) filter (where theirs.held) as rival_position,
    max(query_days.weight) * (
      coalesce(max(curve.ctr) filter (where not theirs.held), 0)
      - coalesce(max(curve.ctr) filter (where theirs.held), 0)
    ) as difference
  from (
    select observations.query_id, observations.q, held.domain, held.place >> 20 as position
    from analysis.observations
    cross join lateral analysis.domains_in(observations.search_id) as held
    where observations.run_date = :day::date
      and held.place is not null
      -- The domains are computed first, as an array, so that only the rows of these domains are read.
      and held.domain = any (array(
        select domain from own_domains
        union all
        select domain from analysis.brands where lower(brand) = lower(:rival)
        union all
        select unnest(array[:rival, :domain]::text[])
      ))
  ) as ranks
  join analysis.query_days on query_days.query_id = ranks.query_id and query_days.run_date = :day::date
  left join analysis.ctr as curve on curve.position = ranks.position
  cross join lateral (
    select ranks.domain = :rival or ranks.domain in (
      select domain
      from analysis.brands
      where lower(brand) = lower(:rival)
        and (since is null or since <= :day::date)
        and (until is null or until >= :day::date)
    ) as held
  ) as theirs
  where theirs.held
    or case
      when :domain::text is null then ranks.domain in (
        select domain
        from analysis.ours_on(:day::date)
      )
      else ranks.domain = :domain
    end
  group by ranks.query_id
) as compared
order by abs(difference) desc, q, variant
limit :top::integer;

-- show gaps: For which queries is a rival in the top 10 while our domain is not in the top 20?
-- :top = 30 (number of rows)
select q, own_domain, domain, position, weight, analysis.variant_of(query_id) as variant
from (
  select query_id, q, own_domain, domain, position, weight
  from analysis.content_gaps
  order by weight desc, q, position, domain, own_domain, query_id
  limit :top::integer
) as greatest
order by weight desc, q, position, domain, own_domain, variant;

-- show competitors: Which domains rank for the same queries as ours?
-- :top = 20 (number of rows)
select own_domain, domain, shared, own_queries, queries, round(lift::numeric, 2) as lift, everywhere
from analysis.competitors
order by shared desc, lift desc, domain
limit :top::integer;

-- show seen: When was each domain first and last seen, and on how many days?
-- :domain = (a domain or part of a domain; empty: all domains)
-- :top = 50 (number of rows, domains seen for the most queries first)
select
  domain, min(run_date) as first_seen, max(run_date) as last_seen, count(*) as days,
  max(ranked) as most_queries, max(top_10) as most_in_top_10
-- The numbers can be summed over all sets of labels, because each query is in exactly one set.
from (
  select run_date, domain, sum(ranked)::bigint as ranked, sum(top_10)::bigint as top_10
  from analysis.set_shares
  where (:domain::text is null or strpos(domain, lower(:domain)) > 0)
    and analysis.in_span(run_date)
  group by run_date, domain
) as shares
group by domain
order by most_queries desc, domain
limit :top::integer;

-- show traffic: Which domains get the most estimated clicks, and what would these clicks cost in advertising?
-- :day = newest (run date; newest: the newest full day)
-- :top = 20 (number of rows)
select
  domain,
  round(sum(estimated_clicks)::numeric, 1) as estimated_clicks,
  round(sum(estimated_value)::numeric, 2) as estimated_value,
  count(*) as queries,
  count(cpc) as priced_queries,
  min(curve) as curve
from analysis.estimated_traffic
where run_date = :day::date
group by domain
order by sum(estimated_clicks) desc, domain
limit :top::integer;
