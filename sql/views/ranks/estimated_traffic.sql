-- What the best place of each domain would bring, by the volume and price that the lists name: estimates, not measures.
create or replace view analysis.estimated_traffic as
select
  ranks.query_id,
  ranks.q,
  ranks.run_date,
  ranks.domain,
  ranks.position,
  ranks.url_key,
  metrics.volume,
  coalesce(curve.ctr, 0) as ctr,
  metrics.volume * coalesce(curve.ctr, 0) as estimated_clicks,
  metrics.cpc,
  metrics.volume * coalesce(curve.ctr, 0) * metrics.cpc as estimated_value,
  coalesce(nullif(current_setting('querymill.ctr_curve', true), ''), 'default') as curve,
  ranks.depth,
  ranks.fetched_at,
  ranks.search_id
from analysis.ranks
join analysis.latest_metrics as metrics on metrics.query_id = ranks.query_id and metrics.volume is not null
left join analysis.ctr as curve on curve.position = ranks.position;
comment on view analysis.estimated_traffic is 'Estimates: the clicks that the best place of each domain would bring in the time that the volume is of (a month, for most tools), and what they would cost in advertising. Volume and price are what the lists said last, for earlier days too; analysis.ctr is the curve of clicks that was used. Queries without a volume in any list are left out.';
comment on column analysis.estimated_traffic.position is 'Best place of the domain.';
comment on column analysis.estimated_traffic.url_key is 'The page at that place, without scheme, fragment, tracking parameters and closing slash.';
comment on column analysis.estimated_traffic.volume is 'Weight of the query in the lists, taken for its volume of searches.';
comment on column analysis.estimated_traffic.ctr is 'Share of clicks of that place, by the curve in use.';
comment on column analysis.estimated_traffic.estimated_clicks is 'Estimate: volume times ctr.';
comment on column analysis.estimated_traffic.cpc is 'What a click costs in advertising; null where no list says it.';
comment on column analysis.estimated_traffic.estimated_value is 'Estimate: estimated_clicks times cpc; null where no list names a price.';
comment on column analysis.estimated_traffic.curve is 'Name of the curve in use, which the setting querymill.ctr_curve chooses.';
