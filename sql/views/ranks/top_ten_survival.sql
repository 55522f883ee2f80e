-- Kaplan-Meier estimate of how long pages stay in the top 10. Ongoing stays are counted with their
-- current length.
create or replace view analysis.top_ten_survival as
-- The counts of finished days are used if they describe every stay: no query was only sometimes in the slice, no day is
-- archived, and at most one day is unfinished.
with chosen as materialized (
  select
    analysis.basis() is not null
    and not exists (select from analysis.sliced_queries() where not always)
    and (select count(*) < 2 from analysis.unfinished_days)
    and not exists (select from analysis.away_days)
    and not exists (select from finished_steps where step is null) as kept
),
daily as (
  select kept.over, kept.answers, kept.pages
  from finished_days
  join finished_stays as kept on kept.finish_id = finished_days.id
  where finished_days.made_at is not null
    and finished_days.basis = (select analysis.basis())
    and (select chosen.kept from chosen)
    and case when (select analysis.slice() is not null)
      then (kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))::integer
      else 1
    end <> 0
  union all
  select stays.over, stays.answers, 1
  from analysis.unfinished_days
  cross join lateral analysis.compared_on(unfinished_days.run_date) as steps
  cross join lateral analysis.stays_of(steps.step, steps.since, steps.ended) as stays
  where (select chosen.kept from chosen)
),
summed as materialized (
  select
    answers::bigint as answers,
    coalesce(sum(pages) filter (where not over), 0)::bigint as seen,
    coalesce(sum(pages) filter (where over), 0)::bigint as ended
  from daily
  group by answers
),
lengths as (
  -- A page that has stayed for a number of answers is seen again in the query's next answer, or has left by then.
  -- Otherwise, there is no next answer, and the stay lasts.
  select summed.answers, summed.ended, summed.seen - coalesce(longer.seen, 0) - summed.ended as lasting
  from summed
  left join summed as longer on longer.answers = summed.answers + 1
  union all
  select answers, count(*) filter (where not lasts), count(*) filter (where lasts)
  from analysis.stay_lengths
  where (select not chosen.kept from chosen)
  group by answers
)
select
  answers,
  at_risk,
  ended,
  lasting,
  survival,
  greatest(survival - 1.96 * survival * sqrt(spread), 0) as low,
  least(survival + 1.96 * survival * sqrt(spread), 1) as high
from (
  select
    answers, at_risk, ended, lasting,
    -- Multiplies by adding logarithms. The result is zero once all stays have ended.
    case when min(at_risk - ended) over sofar = 0 then 0
      else exp(sum(ln(nullif(at_risk - ended, 0)::double precision / at_risk)) over sofar)
    end as survival,
    coalesce(
      sum(ended::double precision / (at_risk * nullif(at_risk - ended, 0)::double precision)) over sofar, 0
    ) as spread
  from (
    select
      answers,
      sum(ended + lasting) over (order by answers desc) as at_risk,
      ended,
      lasting
    from lengths
    where ended + lasting > 0
  ) as counted
  window sofar as (order by answers)
) as estimated;
comment on view analysis.top_ten_survival is 'Estimated fraction of stays in the top 10 that last longer than a given number of consecutive answers (Kaplan-Meier). A stay that has not ended is counted with its current length. Stays that include the oldest answer are excluded, because their start is unknown.';
comment on column analysis.top_ten_survival.answers is 'Length of a stay, as a number of consecutive answers.';
comment on column analysis.top_ten_survival.at_risk is 'Number of stays that were observed for at least this many answers.';
comment on column analysis.top_ten_survival.ended is 'Number of stays that ended after exactly this many answers.';
comment on column analysis.top_ten_survival.lasting is 'Number of unfinished stays that have lasted exactly this many answers so far. The final length of these stays is unknown.';
comment on column analysis.top_ten_survival.survival is 'Estimated fraction of stays that last longer than this many answers, from 0 to 1.';
comment on column analysis.top_ten_survival.low is 'Lower bound of the 95% confidence interval of survival (Greenwood), never below 0.';
comment on column analysis.top_ten_survival.high is 'Upper bound of the 95% confidence interval of survival (Greenwood), never above 1.';
