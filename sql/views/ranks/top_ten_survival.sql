-- Kaplan-Meier estimate of how long pages stay in the top 10. Ongoing stays are counted with their
-- current length.
create or replace view analysis.top_ten_survival as
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
      sum(count(*)) over (order by answers desc) as at_risk,
      count(*) filter (where not lasts) as ended,
      count(*) filter (where lasts) as lasting
    from analysis.stay_lengths
    group by answers
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
