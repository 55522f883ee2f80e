-- Estimated clicks and advertising costs for each domain's best position, from list data.
create or replace view analysis.estimated_traffic as
select
  held.query_id,
  held.q,
  held.run_date,
  held.domain,
  held.place >> 20 as position,
  pages.url_key,
  metrics.volume,
  coalesce(curve.ctr, 0) as ctr,
  metrics.volume * coalesce(curve.ctr, 0) as estimated_clicks,
  metrics.cpc,
  metrics.volume * coalesce(curve.ctr, 0) * metrics.cpc as estimated_value,
  coalesce(nullif(current_setting('querymill.ctr_curve', true), ''), 'default') as curve,
  held.depth,
  held.fetched_at,
  held.search_id
from (
  select
    observations.query_id, observations.q, observations.run_date, observations.depth, observations.fetched_at,
    observations.search_id, shown.domain, shown.place
  from analysis.observations
  cross join lateral analysis.domains_in(observations.search_id) as shown
  where shown.place is not null
) as held
join analysis.latest_metrics as metrics on metrics.query_id = held.query_id and metrics.volume is not null
left join analysis.ctr as curve on curve.position = held.place >> 20
left join organic_results as best on best.search_id = held.search_id and best.ordinal = (held.place & 1048575)
left join pages on pages.id = best.page_id;
comment on view analysis.estimated_traffic is 'Estimated clicks at each domain''s best position, and the advertising cost of these clicks. The clicks cover the same period as the search volume, which is a month in most tools. Volume and price are the latest values in the lists, even for earlier days. The click curve comes from analysis.ctr. Queries without a volume in any list are excluded.';
comment on column analysis.estimated_traffic.position is 'Best position of the domain.';
comment on column analysis.estimated_traffic.url_key is 'Page at the best position: its address without scheme, fragment, tracking parameters or trailing slash.';
comment on column analysis.estimated_traffic.volume is 'Weight of the query in the lists, used as its search volume.';
comment on column analysis.estimated_traffic.ctr is 'Share of clicks at the best position, according to the current click curve.';
comment on column analysis.estimated_traffic.estimated_clicks is 'Estimated clicks: volume times ctr.';
comment on column analysis.estimated_traffic.cpc is 'Advertising cost per click; null if no list has a value.';
comment on column analysis.estimated_traffic.estimated_value is 'Estimated cost of the same clicks as advertising: estimated_clicks times cpc; null if no list has a price.';
comment on column analysis.estimated_traffic.curve is 'Name of the current click curve, as set by querymill.ctr_curve.';
