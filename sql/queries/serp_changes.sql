-- What came, went, moved or was retitled in the answers to a query between two days?
-- :q (text of the query)
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
select
  coalesce(now.position, before.position) as place,
  case
    when before.page is null then 'came'
    when now.page is null then 'went'
    when now.position <> before.position then 'moved'
    when now.title is distinct from before.title then 'retitled'
    else 'same'
  end as change,
  before.position as previous_position, now.position,
  coalesce(now.page, before.page) as page, before.title as previous_title, now.title,
  coalesce(now.previous_run_date, before.previous_run_date) as previous_run_date,
  coalesce(now.run_date, before.run_date) as run_date,
  analysis.variant_of(coalesce(now.query_id, before.query_id)) as variant
from (
  select distinct on (pairs.query_id, url_key) pairs.*, url_key as page, position, title
  from analysis.pairs_between(analysis.since(:day::date, :days::integer), :day::date) as pairs
  cross join lateral analysis.shown_in(pairs.search_id) as result_domains
  where pairs.query_id in (select id from queries where lower(q) = lower(analysis.canonical(:q)))
  order by pairs.query_id, url_key, ordinal
) as now
full join (
  select distinct on (pairs.query_id, url_key) pairs.*, url_key as page, position, title
  from analysis.pairs_between(analysis.since(:day::date, :days::integer), :day::date) as pairs
  cross join lateral analysis.shown_in(pairs.previous_search_id) as result_domains
  where pairs.query_id in (select id from queries where lower(q) = lower(analysis.canonical(:q)))
  order by pairs.query_id, url_key, ordinal
) as before on before.query_id = now.query_id and before.page = now.page
order by variant, now.position nulls last, before.position;
