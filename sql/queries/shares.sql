-- What share of clicks do domains get, by label or dimension, on a day or over time?
-- :domain = any (a domain; any: every domain; empty: our domains)
-- :by = all [all|label|device|country|language|place|list] (dimension to split by: one row for each of its values)
-- :across = all [all|label|device|country|language|place|list] (second dimension: splits each row by its values)
-- :over = once [once|day|week|month] (once: only --day; otherwise, all days, or the days from --since to --until)
-- :day = newest (the day to show with --over once; newest: the newest full day)
-- :top = 20 (number of domains for each value or period, largest shares first)
with sets as materialized (
  select run_date, set_id, labels, queries, weight
  from analysis.label_sets
  where queries > 0
    and (:over <> 'once' or run_date = :day::date)
    and analysis.in_span(run_date)
),
cells as materialized (
  select
    sets.run_date, sets.set_id, sets.queries, sets.weight, one.name as one, other.name as other,
    case :over when 'week' then date_trunc('week', sets.run_date)::date
      when 'month' then date_trunc('month', sets.run_date)::date
      else sets.run_date
    end as period
  from sets
  cross join lateral analysis.names_of(sets.labels, :by) as one (name)
  cross join lateral analysis.names_of(sets.labels, :across) as other (name)
),
totals as materialized (
  select period, one, other, sum(queries) as queries, sum(weight) as weight, count(distinct run_date) as days
  from cells
  group by period, one, other
),
held as (
  select
    period, one, other, domain, sum(ranked) as ranked, sum(top_3) as top_3, sum(top_10) as top_10,
    sum(top_20) as top_20, sum(positions) as positions, coalesce(sum(clicks), 0) as clicks
  from (
    select
      cells.period, cells.one, cells.other, shares.domain, shares.ranked, shares.top_3, shares.top_10, shares.top_20,
      shares.positions, shares.clicks
    from cells
    join analysis.set_shares as shares on shares.run_date = cells.run_date and shares.set_id = cells.set_id
    where (:over <> 'once' or shares.run_date = :day::date)
      and analysis.in_span(shares.run_date)
      and case when :domain::text = 'any' then true
        else shares.domain = any (array(select domain from own_domains union all select :domain::text))
      end
      and case
        when :domain::text is not null then :domain = 'any' or shares.domain = :domain
        else exists (
          select
          from analysis.ours_on(cells.run_date) as ours
          where ours.domain = shares.domain
        )
      end
    union all
    -- A requested domain has a row even if the domain does not rank.
    select distinct cells.period, cells.one, cells.other, asked.domain, 0, 0, 0, 0, 0::double precision, 0::double precision
    from cells
    cross join lateral (
      select domain
      from analysis.ours_on(cells.run_date)
      where :domain::text is null
      union
      select :domain::text
      where :domain <> 'any'
    ) as asked
  ) as counted
  group by period, one, other, domain
)
select
  period as run_date, domain, nullif(one, '*') as slice, nullif(other, '*') as across,
  round((clicks / nullif(weight, 0))::numeric, 4) as share_of_voice,
  round((clicks / nullif(weight, 0) / nullif((select ctr from analysis.ctr where position = 1), 0))::numeric, 4)
    as visibility,
  trim_scale(round(top_3 / days, 1)) as from_1_to_3,
  trim_scale(round((top_10 - top_3) / days, 1)) as from_4_to_10,
  trim_scale(round((top_20 - top_10) / days, 1)) as from_11_to_20,
  trim_scale(round((ranked - top_20) / days, 1)) as from_21,
  trim_scale(round((queries - ranked) / days, 1)) as not_ranked,
  trim_scale(round(queries / days, 1)) as queries,
  round((positions / nullif(ranked, 0))::numeric, 2) as average_rank
from (
  select
    totals.*, held.domain, held.ranked, held.top_3, held.top_10, held.top_20, held.positions, held.clicks,
    row_number() over (partition by totals.period, totals.one, totals.other order by held.clicks desc, held.domain) as nth
  from totals
  join held using (period, one, other)
) as ordered
where nth <= :top::integer
order by run_date, one, other, clicks / nullif(weight, 0) desc nulls last, domain;

-- show brands: What share of clicks do our brands and rival brands get, on a day or over time?
-- :brand = (a brand; empty: all brands)
-- :over = once [once|day] (once: only --day; otherwise, all days, or the days from --since to --until)
-- :day = newest (the day to show with --over once; newest: the newest full day)
select
  run_date, brand, ours,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(visibility::numeric, 4) as visibility,
  top_3, top_10, ranked, queries
from analysis.brand_share
where tag = '*'
  and (:over <> 'once' or run_date = :day::date)
    and analysis.in_span(run_date)
  and (:brand::text is null or lower(brand) = lower(:brand))
order by run_date, share_of_voice desc nulls last, brand, ours;

-- show topics: Which domains have the largest share of voice within each topic on a day?
-- :day = newest (run date; newest: the newest full day)
select topic, domain, round(share_of_voice::numeric, 4) as share_of_voice, ranked, queries
from (
  select *, row_number() over (partition by topic order by share_of_voice desc nulls last, domain) as nth
  from analysis.topic_share
  where run_date = :day::date
) as ordered
where nth <= 3
order by topic, nth;

-- show bounds: What are the lowest and highest possible shares of voice of a domain, given the unanswered queries?
-- :domain = (a domain; empty: our domains)
select
  run_date,
  domain,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(low::numeric, 4) as low,
  round(high::numeric, 4) as high,
  queries,
  unanswered
from analysis.share_bounds
where tag = '*'
  and analysis.in_span(run_date)
  and share_bounds.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(share_bounds.run_date) as ours
      where ours.domain = share_bounds.domain
    )
    else domain = :domain
  end
order by domain, run_date;
