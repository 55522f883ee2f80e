-- Credits used on each day, with the number of losses that the day's answers confirmed.
create or replace view analysis.insight_costs as
select
  spent.run_date,
  spent.list,
  coalesce(spent.credits_used, 0) as credits_used,
  coalesce(confirmed.losses, 0) as losses,
  coalesce(confirmed.ours, 0) as own_losses,
  coalesce(spent.credits_used, 0)::double precision / nullif(confirmed.losses, 0) as credits_per_loss,
  coalesce(spent.credits_used, 0)::double precision / nullif(confirmed.ours, 0) as credits_per_own_loss
from (
  select run_date, list, credits_used
  from analysis.costs
  where tag = '*'
    and run_date not in (select away_days.run_date from analysis.away_days)
) as spent
left join (
  select
    lost.run_date, asked.list,
    count(*) as losses,
    count(*) filter (where exists (
      select
      from analysis.ours_on(lost.run_date) as ours
      where ours.domain = lost.domain
    )) as ours
  from analysis.confirmed_losses as lost
  -- A loss counts for every list in which the query was asked that day, because each of these lists shows the loss.
  join (
    select
      runs.run_date, lists.name as list, array_agg(runs.id) as runs,
      count(*) over (partition by runs.run_date) as lists
    from runs
    join lists on lists.id = runs.list_id
    group by runs.run_date, lists.name
  ) as asked on asked.run_date = lost.run_date
  -- On a day with only one list, every loss belongs to that list. On other days,
  -- tasks are looked up by key, because there are far fewer losses than tasks.
  where case when asked.lists = 1 then 1
    else (exists (
      select
      from tasks
      where tasks.run_id = any (asked.runs)
        and tasks.query_id = lost.query_id
    ))::integer
  end <> 0
  group by lost.run_date, asked.list
) as confirmed using (run_date, list);
comment on view analysis.insight_costs is 'Daily cost of each list, with the number of top 10 losses that the list''s answers confirmed (analysis.confirmed_losses). To get the cost per loss over a longer period, divide the sum of the credits by the sum of the losses.';
comment on column analysis.insight_costs.credits_used is 'Credits used, as reported by the answers from all origins.';
comment on column analysis.insight_costs.losses is 'Number of losses confirmed by the day''s answers, for all domains.';
comment on column analysis.insight_costs.own_losses is 'Number of losses confirmed for domains that were ours on the run date.';
comment on column analysis.insight_costs.credits_per_loss is 'Credits per confirmed loss; null if no loss was confirmed.';
comment on column analysis.insight_costs.credits_per_own_loss is 'Credits per confirmed loss by our domains; null if no loss by our domains was confirmed.';
