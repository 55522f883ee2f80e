-- What does a query's result page show, and what changed since an earlier day?
-- :q (text of the query)
-- :day = newest (the later day; newest: the newest full day)
-- :days = 7 (number of days between the two days, if --since is not given)
with asked as materialized (
  select
    queries.id as query_id, now.search_id, now.run_date, before.search_id as previous_search_id,
    before.run_date as previous_run_date
  from queries
  cross join lateral (
    select *
    from analysis.observations
    where observations.query_id = queries.id
      and observations.run_date <= :day::date
    order by observations.run_date desc
    limit 1
  ) as now
  left join lateral (
    select *
    from analysis.observations
    where observations.query_id = queries.id
      and observations.run_date <= analysis.since(:day::date, :days::integer)
      and observations.origin = now.origin
      and observations.api = now.api
      and observations.search_id <> now.search_id
    order by observations.run_date desc
    limit 1
  ) as before on true
  where lower(queries.q) = lower(analysis.canonical(:q))
)
select
  case
    when asked.previous_search_id is null then 'first'
    when before.page is null then 'came'
    when now.page is null then 'went'
    when now.position <> before.position then 'moved'
    when now.title is distinct from before.title then 'retitled'
    else 'same'
  end as change,
  before.position as previous_position, now.position, coalesce(now.domain, before.domain) as domain,
  coalesce(now.page, before.page) as page, before.title as previous_title, now.title,
  asked.previous_run_date, asked.run_date, analysis.variant_of(asked.query_id) as variant
from (
  select distinct on (asked.query_id, url_key) asked.query_id, shown.url_key as page, shown.position, shown.title, shown.domain
  from asked
  cross join lateral analysis.shown_in(asked.search_id) as shown
  order by asked.query_id, url_key, ordinal
) as now
full join (
  select distinct on (asked.query_id, url_key) asked.query_id, shown.url_key as page, shown.position, shown.title, shown.domain
  from asked
  cross join lateral analysis.shown_in(asked.previous_search_id) as shown
  order by asked.query_id, url_key, ordinal
) as before on before.query_id = now.query_id and before.page = now.page
join asked on asked.query_id = coalesce(now.query_id, before.query_id)
order by variant, asked.query_id, now.position nulls last, before.position;

-- show history: Where did a domain rank for a query, day by day?
-- :q (text of the query)
-- :domain = (a domain; empty: our domains)
select
  rank_history.run_date, rank_history.domain, rank_history.position, rank_history.url_key as page, rank_history.depth,
  rank_history.evidence,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from queries
-- Reads each query separately. A single join would read the answers to all queries.
cross join lateral (
  select *
  from analysis.rank_history
  where rank_history.query_id = queries.id
  offset 0
) as rank_history
where lower(queries.q) = lower(analysis.canonical(:q))
  and analysis.in_span(rank_history.run_date)
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(rank_history.run_date) as ours
      where ours.domain = rank_history.domain
    )
    else rank_history.domain = :domain
  end
order by domain, variant, rank_history.query_id, run_date;

-- show parts: What did each day's answer to a query show besides results?
-- :q (text of the query)
select
  observations.run_date,
  array(
    select part.key
    from jsonb_each(case when jsonb_typeof(searches.extra) = 'object' then searches.extra else '{}' end) as part
    where part.value not in ('null', '[]', '{}', '""', 'false')
    order by part.key
  ) as parts,
  observations.depth, observations.search_id,
  analysis.variant(observations.device, observations.location, observations.hl, observations.gl, observations.num) as variant
from queries
cross join lateral (
  select *
  from analysis.observations
  where observations.query_id = queries.id
  offset 0
) as observations
join searches on searches.id = observations.search_id
where lower(queries.q) = lower(analysis.canonical(:q))
order by variant, observations.query_id, observations.run_date;

-- show related: Which related searches do the answers to a query suggest, and when was each first suggested?
-- :q (text of the query)
select
  edges.related, edges.related_queries is not null as ours, edges.ordinal, edges.first_seen, edges.last_seen,
  edges.observations,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from queries
-- Reads each query separately. A single join would read the answers to all queries.
cross join lateral (
  select *
  from analysis.related_edges
  where related_edges.query_id = queries.id
  offset 0
) as edges
where lower(queries.q) = lower(analysis.canonical(:q))
order by variant, edges.query_id, last_seen desc, ordinal, related;

-- show stays: Which pages stayed in the top 10 for a query, and for how long?
-- :q (text of the query)
select
  stays.url_key as page, stays.since, stays.until, stays.answers, stays.best_position, stays.worst_position,
  stays.lasts,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from queries
-- Reads each query separately. A single join would read the answers to all queries.
cross join lateral (
  select *
  from analysis.top_ten_stays
  where top_ten_stays.query_id = queries.id
  offset 0
) as stays
where lower(queries.q) = lower(analysis.canonical(:q))
order by variant, stays.query_id, answers desc, best_position, page;

-- show find: Which queries contain a word, and when were they last answered?
-- :word (a word or part of a word)
-- :top = 50 (number of rows)
select queries.q, queries.hl, queries.gl, queries.device, queries.location, latest.fetched_at, latest.depth
from queries
left join analysis.latest on latest.query_id = queries.id
-- "ilike" cannot be used, because a percent sign is an ordinary character in a query.
where strpos(lower(queries.q), lower(:word)) > 0
  and (
    analysis.slice() is null
    or queries.id in (select query_id from analysis.queries_in_slice())
  )
order by queries.q, queries.device
limit :top::integer;
