-- Each new answer with its difference from the previous answer: stored for finished days, computed for other days.
create or replace view analysis.step_days as
select
  kept.query_id,
  finished_days.run_date,
  kept.search_id,
  kept.fetched_at,
  case when away.run_date is null then kept.previous_search_id end as previous_search_id,
  case when away.run_date is null then kept.previous_run_date end as previous_run_date,
  kept.depth,
  case when away.run_date is null then kept.previous_depth end as previous_depth,
  case when away.run_date is null then kept.volatility end as volatility,
  case when away.run_date is null then kept.compared_depth end as compared_depth,
  case when away.run_date is null then kept.entered end as entered,
  case when away.run_date is null then kept.left_top_10 end as left_top_10,
  case when away.run_date is null then kept.stayed end as stayed,
  case when away.run_date is null then coalesce(kept.switched, '{}') else '{}' end as switched,
  case when away.run_date is null then coalesce(kept.retitled, '{}') else '{}' end as retitled,
  case when away.run_date is null then coalesce(kept.relabelled, false) else false end as relabelled,
  case when away.run_date is null then coalesce(kept.moves, '{}') else '{}' end as moves,
  kept.step,
  kept.since,
  kept.ended
from finished_days
join finished_steps as kept on kept.finish_id = finished_days.id
-- An archived answer has no results in the tables, so no other answer can be compared with it.
left join analysis.away_days as away on away.run_date = kept.previous_run_date
where finished_days.made_at is not null
  and finished_days.run_date not in (select away_days.run_date from analysis.away_days)
  and finished_days.basis = (select analysis.basis())
  -- Stored rows are used only for queries that were always in the slice. For other queries, the previous answer within
  -- the slice may be older than the stored previous answer.
  and case when (select analysis.slice() is not null)
    then (kept.query_id in (select query_id from analysis.sliced_queries() where always))::integer
    else 1
  end <> 0
union all
-- Reads each day separately. A single query would be planned for all days, even if few are needed.
select
  found.query_id,
  unfinished_days.run_date,
  found.search_id,
  found.fetched_at,
  found.previous_search_id,
  found.previous_run_date,
  found.depth,
  found.previous_depth,
  found.volatility,
  found.compared_depth,
  found.entered,
  found.left_top_10,
  found.stayed,
  coalesce(found.switched, '{}'),
  coalesce(found.retitled, '{}'),
  coalesce(found.relabelled, false),
  coalesce(found.moves, '{}'),
  found.step,
  found.since,
  found.ended
from analysis.unfinished_days
cross join lateral analysis.compared_on(unfinished_days.run_date) as found
where (select analysis.basis() is not null)
union all
select
  live.query_id,
  live.run_date,
  live.search_id,
  live.fetched_at,
  live.previous_search_id,
  live.previous_run_date,
  live.depth,
  live.previous_depth,
  live.volatility,
  live.compared_depth,
  live.entered,
  live.left_top_10,
  live.stayed,
  null,
  null,
  null,
  null,
  null,
  null,
  null
from analysis.live_steps as live
where (select analysis.basis() is null or exists (select from analysis.sliced_queries() where not always))
  and case when (select analysis.basis() is null) then 1
    else (
      live.query_id in (select query_id from analysis.sliced_queries() where not always)
      and live.run_date not in (select unfinished_days.run_date from analysis.unfinished_days)
    )::integer
  end <> 0;
comment on view analysis.step_days is 'Difference between each new answer to a query and the previous answer. Volatility and churn are computed from these rows.';
comment on column analysis.step_days.volatility is 'Difference from the previous answer, from 0 (the same) to 1 (nothing in common); null if the two answers cannot be compared.';
comment on column analysis.step_days.compared_depth is 'Number of positions that both answers contain; null if the two answers cannot be compared.';
comment on column analysis.step_days.entered is 'Number of pages that entered the top 10.';
comment on column analysis.step_days.left_top_10 is 'Number of pages that left the top 10.';
comment on column analysis.step_days.stayed is 'Number of pages that are in the top 10 of both answers.';
comment on column analysis.step_days.switched is 'Domains whose best page has changed since the previous answer; null if not computed.';
comment on column analysis.step_days.retitled is 'Domains with a page whose title has changed since the previous answer; null if not computed.';
comment on column analysis.step_days.relabelled is 'True if the intent or sentiment has changed since the previous answer; null if not computed.';
comment on column analysis.step_days.moves is 'Number of places by which each domain moved since the previous answer; null if not computed.';
comment on column analysis.step_days.step is 'Number of the answer in its series: the answers to the same query from the same origin and API. Null if not computed.';
comment on column analysis.step_days.since is 'For each page in positions 1 to 10, the step at which the page entered; 1 if the first answer already shows the page. Null if not computed.';
comment on column analysis.step_days.ended is 'For each page that left positions 1 to 10, the step at which the page had entered; null if not computed.';
