-- Sums for each domain, label set and day. The sums of finished days are stored; all others are computed from answers.
create or replace view analysis.set_shares as
select
  finished_days.run_date,
  kept.set_id,
  sets.labels,
  kept.domain,
  kept.ranked,
  kept.top_3,
  kept.top_10,
  kept.top_20,
  kept.positions,
  kept.clicks
from finished_days
join finished_shares as kept on kept.finish_id = finished_days.id
-- As an outer join, so that the planner can leave it out if no labels are read.
left join finished_labels as sets on sets.finish_id = kept.finish_id and sets.set_id = kept.set_id
where finished_days.made_at is not null
  and finished_days.basis = (select analysis.basis())
  and case when (select analysis.slice() is not null)
    then (kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))::integer
    else 1
  end <> 0
union all
-- Reads the rows day by day, because a single query would be planned for all days even if few are needed.
select
  unfinished_days.run_date, found.set_id, found.labels collate "C", found.domain collate "C", found.ranked, found.top_3,
  found.top_10, found.top_20, found.positions, found.clicks
from analysis.unfinished_days
cross join lateral analysis.shares_on(unfinished_days.run_date) as found
where (select analysis.basis() is not null)
union all
select
  live.run_date, live.set_id, live.labels, live.domain, live.ranked, live.top_3, live.top_10, live.top_20,
  live.positions, live.clicks
from analysis.live_shares as live
where (select analysis.basis() is null);
comment on view analysis.set_shares is 'Number of ranked queries, sum of positions and sum of clicks for each domain, set of labels and day. Summing the rows of several sets gives the totals for any slice and any pair of dimensions.';
comment on column analysis.set_shares.set_id is 'Id of the label set, as computed by analysis.set_id.';
comment on column analysis.set_shares.labels is 'Labels in the set, including those for device, country, language, place and list.';
comment on column analysis.set_shares.ranked is 'Number of queries for which the domain ranks, at any position.';
comment on column analysis.set_shares.top_3 is 'Number of queries for which the domain ranks in positions 1 to 3.';
comment on column analysis.set_shares.top_10 is 'Number of queries for which the domain ranks in positions 1 to 10.';
comment on column analysis.set_shares.top_20 is 'Number of queries for which the domain ranks in positions 1 to 20.';
comment on column analysis.set_shares.positions is 'Sum of the domain''s best positions, one for each query for which the domain ranks.';
comment on column analysis.set_shares.clicks is 'Sum of each query''s weight times the share of clicks at the domain''s best position; null if the click curve has no value for any of these positions.';
