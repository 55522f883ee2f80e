-- Volatility by day of the week, to show whether some days are more volatile than others.
create or replace view analysis.volatility_weekdays as
select
  weekday,
  (array['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'])[weekday] as name,
  nights,
  volatility,
  (total - nights * volatility) / nullif(others, 0) as elsewhere,
  volatility - (total - nights * volatility) / nullif(others, 0) as difference,
  -- Compares two means, each with its own variance (Welch's test). Three nights per weekday are too
  -- few for a standard error.
  case when nights >= 4 and others >= 4
    then sqrt(
      variance / nights
      + greatest(squares - (nights - 1) * variance - nights * volatility ^ 2
        - (total - nights * volatility) ^ 2 / others, 0) / (others - 1) / others
    )
  end as standard_error
from (
  select
    weekday, nights, volatility, coalesce(variance, 0) as variance,
    sum(nights) over () - nights as others,
    sum(nights * volatility) over () as total,
    sum(squares) over () as squares
  from (
    select
      extract(isodow from run_date)::integer as weekday,
      count(*)::double precision as nights,
      avg(volatility) as volatility,
      var_samp(volatility) as variance,
      sum(volatility ^ 2) as squares
    from analysis.volatility_nights
    where analysis.in_span(run_date)
    group by 1
  ) as grouped
) as compared;
comment on view analysis.volatility_weekdays is 'Mean volatility of the nights on each day of the week, compared with all other nights. Treat a difference as real only if it is at least twice its standard error. By chance, at least one of the seven weekdays shows such a difference more than 25 % of the time.';
comment on column analysis.volatility_weekdays.weekday is 'Day of the week, from 1 (Monday) to 7 (Sunday).';
comment on column analysis.volatility_weekdays.name is 'Name of the day of the week.';
comment on column analysis.volatility_weekdays.nights is 'Number of nights on this weekday that could be compared with earlier answers.';
comment on column analysis.volatility_weekdays.volatility is 'Mean volatility of the nights on this weekday, from 0 to 1.';
comment on column analysis.volatility_weekdays.elsewhere is 'Mean volatility of all other nights.';
comment on column analysis.volatility_weekdays.difference is 'Difference between the two means: volatility minus elsewhere.';
comment on column analysis.volatility_weekdays.standard_error is 'Standard error of the difference; null if this weekday or the other days have fewer than four nights.';
