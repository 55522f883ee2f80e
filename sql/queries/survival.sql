-- How long do pages stay in the first ten, in answers in a row, those counted in that still last?
select
  answers,
  round(survival::numeric, 3) as survival,
  round(low::numeric, 3) as low,
  round(high::numeric, 3) as high,
  at_risk, ended, lasting
from analysis.top_ten_survival
order by answers;
