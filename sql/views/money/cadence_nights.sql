-- The receipt of each night of an adaptive list: what it cost, what it saved, and what those that rested may have hidden.
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
comment on view analysis.cadence_nights is 'The receipt of each night of a list with an adaptive schedule: credits spent and saved, and by the queries that chance drew among those that could rest, how many of these hid a move in the first ten. Those drawn in the newest night are compared when the next one is decided.';
comment on column analysis.cadence_nights.list is 'Name of the list.';
comment on column analysis.cadence_nights.queries is 'Queries of the list when the night was decided.';
comment on column analysis.cadence_nights.due is 'Of these, queries whose turn it was.';
comment on column analysis.cadence_nights.by_chance is 'Queries that could rest and were drawn by chance to be asked.';
comment on column analysis.cadence_nights.rested is 'Queries that could rest and were not drawn.';
comment on column analysis.cadence_nights.bought is 'Queries of the night with a bought answer.';
comment on column analysis.cadence_nights.not_asked is 'Queries that the run did not ask.';
comment on column analysis.cadence_nights.credits is 'Credits that the answers of the night used.';
comment on column analysis.cadence_nights.credits_saved is 'What those not asked would have cost, at the mean price of the night; null where nothing was bought.';
comment on column analysis.cadence_nights.compared is 'Drawn queries whose answer was compared with the one before it.';
comment on column analysis.cadence_nights.moved is 'Of these, queries of which a page had entered or left the first ten.';
comment on column analysis.cadence_nights.hidden_share is 'moved by compared: the share of those that could rest which hid a move; null while none is compared.';
comment on column analysis.cadence_nights.hidden is 'The same as so many queries.';
comment on column analysis.cadence_nights.hidden_low is 'The least that these may be, with a confidence of 95 % (Wilson, with correction for continuity).';
comment on column analysis.cadence_nights.hidden_high is 'The most that these may be.';
comment on column analysis.cadence_nights.longest_days is 'Longest interval that the schedule allowed.';
comment on column analysis.cadence_nights.intervals is 'How many queries had an interval of 1 day, of 2 days and so on.';
comment on column analysis.cadence_nights.decided_at is 'When the night was decided.';
