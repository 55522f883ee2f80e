-- Are some days of the week more restless than the others?
select
  name as weekday,
  nights,
  round(volatility::numeric, 4) as volatility,
  round(elsewhere::numeric, 4) as elsewhere,
  round(standard_error::numeric, 4) as standard_error,
  abs(difference) >= 2 * standard_error as significant
from analysis.volatility_weekdays
-- The nights of the time that is asked about: the view chooses them.
order by volatility_weekdays.weekday;
