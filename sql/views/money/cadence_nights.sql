-- Cost and savings of each night of an adaptive list, and the estimated number of changes missed by skipping queries.
create or replace view analysis.cadence_nights as
select
  nights.run_date,
  lists.name as list,
  nights.queries,
  nights.due,
  nights.by_chance,
  nights.rested,
  asked.bought,
  asked.not_asked,
  asked.credits,
  asked.not_asked * asked.credits / nullif(asked.bought, 0) as credits_saved,
  draws.compared,
  draws.moved,
  draws.moved::double precision / nullif(draws.compared, 0) as hidden_share,
  analysis.wilson_low(draws.moved, draws.compared) * (nights.rested + nights.by_chance) as hidden_low,
  draws.moved::double precision / nullif(draws.compared, 0) * (nights.rested + nights.by_chance) as hidden,
  (1 - analysis.wilson_low(draws.compared - draws.moved, draws.compared)) * (nights.rested + nights.by_chance)
    as hidden_high,
  nights.longest_days,
  nights.intervals,
  nights.decided_at
from cadence_nights as nights
join lists on lists.id = nights.list_id
cross join lateral (
  select
    count(*) filter (where tasks.state = 'answered') as bought,
    count(*) filter (where tasks.state = 'not_asked') as not_asked,
    sum(paid.credits)::double precision as credits
  from runs
  join tasks on tasks.run_id = runs.id
  left join lateral (
    select sum(calls.credits_used) as credits
    from calls
    where calls.task_id = tasks.id
  ) as paid on true
  where runs.list_id = nights.list_id
    and runs.run_date = nights.run_date
    and runs.kind = 'nightly'
) as asked
cross join lateral (
  select
    count(cadence_draws.moves)::double precision as compared,
    (count(*) filter (where cadence_draws.moves > 0))::double precision as moved
  from cadence_draws
  where cadence_draws.list_id = nights.list_id
    and cadence_draws.run_date = nights.run_date
) as draws;
comment on view analysis.cadence_nights is 'Cost and savings of each night of a list with an adaptive schedule. A random sample of the queries that are not due is also asked, to estimate how many skipped queries had a change in the top 10. A night''s sample is evaluated when the next night''s queries are chosen.';
comment on column analysis.cadence_nights.list is 'Name of the list.';
comment on column analysis.cadence_nights.queries is 'Number of queries in the list when the night''s queries were chosen.';
comment on column analysis.cadence_nights.due is 'Number of queries that were due that night.';
comment on column analysis.cadence_nights.by_chance is 'Number of queries that were not due but were selected at random to be asked.';
comment on column analysis.cadence_nights.rested is 'Number of queries that were skipped because they were neither due nor selected at random.';
comment on column analysis.cadence_nights.bought is 'Number of queries whose answers were bought that night.';
comment on column analysis.cadence_nights.not_asked is 'Number of queries that were not asked in the run.';
comment on column analysis.cadence_nights.credits is 'Credits used for the night''s answers.';
comment on column analysis.cadence_nights.credits_saved is 'Estimated cost of the queries that were not asked, at the night''s mean price; null if nothing was bought.';
comment on column analysis.cadence_nights.compared is 'Number of randomly selected queries whose answer was compared with the previous answer.';
comment on column analysis.cadence_nights.moved is 'Number of compared queries for which a page entered or left the top 10.';
comment on column analysis.cadence_nights.hidden_share is 'Fraction of compared queries for which a page entered or left the top 10: moved divided by compared. Null if no query has been compared yet.';
comment on column analysis.cadence_nights.hidden is 'Estimated number of queries with a change in the top 10, among all queries that were not due: hidden_share times the sum of rested and by_chance.';
comment on column analysis.cadence_nights.hidden_low is 'Lower bound of the 95% confidence interval of hidden (Wilson, with continuity correction).';
comment on column analysis.cadence_nights.hidden_high is 'Upper bound of the 95% confidence interval of hidden (Wilson, with continuity correction).';
comment on column analysis.cadence_nights.longest_days is 'Longest interval that the schedule allowed, in days.';
comment on column analysis.cadence_nights.intervals is 'Number of queries for each interval: 1 day, 2 days, and so on.';
comment on column analysis.cadence_nights.decided_at is 'Time at which the night''s queries were chosen.';
