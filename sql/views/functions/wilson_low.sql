-- Lower bound of Wilson's 95% confidence interval for an observed share, with continuity correction.
create or replace function analysis.wilson_low(moved double precision, compared double precision)
returns double precision
language sql immutable parallel safe as $$
  select case
    when compared is null or compared <= 0 or moved <= 0 then 0
    else greatest(
      0,
      (
        2 * moved + 1.96 ^ 2 - 1
        - 1.96 * sqrt(greatest(0, 1.96 ^ 2 - 2 - 1 / compared + 4 * (moved / compared) * (compared - moved + 1)))
      ) / (2 * (compared + 1.96 ^ 2))
    )
  end
$$;
comment on function analysis.wilson_low(double precision, double precision) is 'Lower bound of the 95% confidence interval of the share moved / compared (Wilson, with continuity correction). The upper bound is 1 - analysis.wilson_low(compared - moved, compared).';
