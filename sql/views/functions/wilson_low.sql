-- The lower end of a share that was seen by chance: Wilson's interval of 95 %, with correction for continuity.
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
comment on function analysis.wilson_low(double precision, double precision) is 'The least that a share may be of which moved of compared were seen by chance, with a confidence of 95 %: Wilson''s interval with correction for continuity. The most that it may be is 1 - analysis.wilson_low(compared - moved, compared).';
