-- How long pages stay in the first ten, by Kaplan and Meier: stays that still last count as long as they were seen.
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
    -- A product as a sum of logarithms; where all stays end, it is nought from there on.
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
comment on view analysis.top_ten_survival is 'Which part of the stays of pages in the first ten outlasts so many answers in a row: an estimate by Kaplan and Meier, in which stays that still last count as such, and those that were there at the oldest answer are left out, since nobody knows when they began.';
comment on column analysis.top_ten_survival.answers is 'Answers in a row.';
comment on column analysis.top_ten_survival.at_risk is 'Stays that were seen for at least as many.';
comment on column analysis.top_ten_survival.ended is 'Of these, stays that ended after just as many.';
comment on column analysis.top_ten_survival.lasting is 'Of these, stays that were seen for just as many and still last: how long, nobody knows yet.';
comment on column analysis.top_ten_survival.survival is 'Estimated part of stays that last longer, 0 to 1.';
comment on column analysis.top_ten_survival.low is 'Lower end of what 95 of 100 such estimates would hold (Greenwood), never below 0.';
comment on column analysis.top_ten_survival.high is 'Upper end, never above 1.';
