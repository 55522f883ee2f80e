-- Which pages or folders of a domain gained or lost the most between two days, and which domains took their places?
-- :domain = (a domain; empty: our domains)
-- :folders = 0 (0: pages; otherwise, the number of path segments that form a folder)
-- :day = newest (the later day; newest: the newest full day)
-- :days = 7 (number of days between the two days, if --since is not given)
-- :change = all [all|gained|lost] (kind of change to show)
-- :top = 20 (number of rows, largest changes first)
with changes as materialized (
  select
    changed.*,
    case when :folders::integer = 0 then changed.page
      else array_to_string((string_to_array(changed.page, '/'))[1:1 + :folders::integer], '/')
    end as name
  from analysis.page_changes(
    analysis.since(:day::date, :days::integer),
    :day::date,
    case
      when :domain::text is null then array(
        select domain
        from analysis.ours_on(:day::date)
      )
      else array[:domain::text]
    end
  ) as changed
)
select
  summed.name as page, round(summed.change::numeric, 3) as click_change, round(summed.clicks_before::numeric, 3) as clicks_before,
  round(summed.clicks_now::numeric, 3) as clicks_now, summed.queries_up, summed.queries_down, summed.queries, summed.pages,
  summed.example, taker.domain as taken_by
from (
  select
    name, sum(clicks_now) - sum(clicks_before) as change, sum(clicks_before) as clicks_before,
    sum(clicks_now) as clicks_now, count(*) filter (where clicks_now > clicks_before) as queries_up,
    count(*) filter (where clicks_now < clicks_before) as queries_down, count(distinct query_id) as queries,
    count(distinct page) as pages,
    (array_agg(q order by clicks_now - clicks_before, q))[1] as example,
    (array_agg(search_id order by clicks_now - clicks_before, q))[1] as search_id,
    (array_agg(previous_position order by clicks_now - clicks_before, q))[1] as place
  from changes
  group by name
  having case :change when 'gained' then sum(clicks_now) > sum(clicks_before)
    when 'lost' then sum(clicks_now) < sum(clicks_before)
    else :folders::integer > 0 or sum(clicks_now) <> sum(clicks_before)
  end
  order by abs(sum(clicks_now) - sum(clicks_before)) desc, name
  limit :top::integer
) as summed
left join lateral (
  select shown.domain
  from analysis.shown_in(summed.search_id) as shown
  where shown.position = summed.place
    and summed.queries_down > 0
  order by shown.ordinal
  limit 1
) as taker on true
order by abs(summed.change) desc, page;

-- show ranking: Which pages of a domain rank, for how many queries, and with what estimated value?
-- :domain = (a domain; empty: our domains)
-- :day = newest (run date; newest: the newest full day)
-- :least = 1 (minimum number of queries for which a page ranks)
-- :top = 20 (number of rows, pages with the most clicks first)
select
  page, count(*) as queries, count(*) filter (where position <= 10) as top_10, min(position) as best_position,
  (array_agg(q order by clicks desc, q))[1] as best_query,
  round(sum(clicks)::numeric, 3) as clicks,
  round(sum(volume * ctr)::numeric, 1) as estimated_clicks,
  round(sum(volume * ctr * cpc)::numeric, 2) as estimated_value
from (
  select
    placed.query_id, placed.page, max(placed.q) as q, min(placed.position) as position,
    max(coalesce(curve.ctr, 0)) as ctr, max(coalesce(weights.weight, 1) * coalesce(curve.ctr, 0)) as clicks,
    max(metrics.volume) as volume, max(metrics.cpc) as cpc
  from (
    select results.query_id, results.q, results.position, analysis.page_name(results.url_key) as page
    from analysis.results
    where results.run_date = :day::date
      and results.position is not null
      and results.url_key is not null
      and results.domain = any (array(select domain from own_domains union all select :domain::text))
      and case
        when :domain::text is null then results.domain in (
          select domain
          from analysis.ours_on(:day::date)
        )
        else results.domain = :domain
      end
  ) as placed
  left join analysis.latest_weights as weights on weights.query_id = placed.query_id
  left join analysis.latest_metrics as metrics on metrics.query_id = placed.query_id
  left join analysis.ctr as curve on curve.position = placed.position
  group by placed.query_id, placed.page
) as best
group by page
having count(*) >= :least::integer
order by sum(clicks) desc, page
limit :top::integer;

-- show several: For which queries does the answer show several pages of one domain?
-- :domain = (a domain; empty: our domains)
-- :day = newest (run date; newest: the newest full day)
select
  q, domain, pages, positions, url_keys,
  analysis.variant_of(cannibalised_serps.query_id) as variant
from analysis.cannibalised_serps
where run_date = :day::date
  and cannibalised_serps.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(cannibalised_serps.run_date) as ours
      where ours.domain = cannibalised_serps.domain
    )
    else domain = :domain
  end
order by pages desc, q, domain, variant;

-- show switches: For which queries does the best page of a domain change back and forth?
-- :domain = (a domain; empty: our domains)
select
  q, domain, switches, pages, url_keys, run_date as last_switch,
  analysis.variant_of(page_switches.query_id) as variant
from analysis.page_switches
where page_switches.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(page_switches.run_date) as ours
      where ours.domain = page_switches.domain
    )
    else domain = :domain
  end
order by switches desc, q, domain, variant;

-- show titles: Which pages changed their titles, and where did they rank before and after?
-- :domain = (a domain; empty: our domains)
-- :fell = no [no|yes] (yes: only pages that ranked lower afterwards or no longer ranked)
-- :top = 50 (number of rows, newest first)
select
  changed.run_date, changed.q, changed.url_key as page, changed.position, later.position as next_position,
  next.run_date as next_run_date, changed.previous_title, changed.title, analysis.variant_of(changed.query_id) as variant
from (
  select *
  from analysis.title_changes
  where analysis.in_span(title_changes.run_date)
    and title_changes.domain = any (array(select domain from own_domains union all select :domain::text))
    and case
      when :domain::text is null then exists (
        select
        from analysis.ours_on(title_changes.run_date) as ours
        where ours.domain = title_changes.domain
      )
      else domain = :domain
    end
) as changed
left join lateral (
  select observations.run_date, observations.search_id, observations.depth
  from analysis.observations
  where observations.query_id = changed.query_id
    and observations.run_date > changed.run_date
  order by observations.run_date
  limit 1
) as next on true
left join lateral (
  select min(shown.position) as position
  from analysis.shown_in(next.search_id) as shown
  where analysis.page_name(shown.url_key) = analysis.page_name(changed.url_key)
) as later on true
where :fell = 'no'
  or later.position > changed.position
  or (later.position is null and next.depth >= changed.position)
order by changed.run_date desc, changed.q, changed.position, page, variant
limit :top::integer;

-- show wrong: For which queries does a page other than the target page rank?
-- :day = newest (run date; newest: the newest full day)
select
  q, domain, position, url_key as page, target_key as wanted, target_position as wanted_position,
  analysis.variant_of(wrong_pages.query_id) as variant
from analysis.wrong_pages
where run_date = :day::date
order by position, q, domain, variant;

-- show seen: When was a page first and last seen, and for which queries?
-- :page (address of the page)
with named as materialized (
  select analysis.page_name(analysis.url_key(:page)) as name
)
select
  queries.q, min(placed.run_date) as first_seen, max(placed.run_date) as last_seen, count(*) as days,
  min(placed.position) as best_position, max(placed.position) as worst_position,
  analysis.variant_of(queries.id) as variant
from (
  select observations.query_id, observations.run_date, min(organic_results.position) as position
  from analysis.observations
  join organic_results on organic_results.search_id = observations.search_id
  where analysis.in_span(observations.run_date)
    and observations.query_id = any (array(
      select analysis.queries_showing(array[name, 'www.' || name], '-infinity', 'infinity')
      from named
    ))
    and organic_results.page_id = any (array(
      select pages.id
      from named
      cross join analysis.pages_of(array[name, 'www.' || name]) as listed (id)
      join pages using (id)
      where analysis.page_name(pages.url_key) = name
    ))
  group by observations.query_id, observations.run_date
) as placed
join queries on queries.id = placed.query_id
group by queries.id, queries.q
order by days desc, queries.q, variant;
