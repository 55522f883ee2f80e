-- How restless was each night, and was it out of the ordinary?
select run_date, queries, round(volatility::numeric, 4) as volatility, round(usual::numeric, 4) as usual, round(z::numeric, 2) as z
from analysis.volatility_nights
where analysis.in_span(run_date)
order by run_date;
